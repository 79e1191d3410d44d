#ifndef JS_HOST_KEEPING_H
#define JS_HOST_KEEPING_H

#include <stdbool.h>
#include <sys/types.h>

#include "sampler/daemon/keeper/keeper.h"
#include "sampler/daemon/supervise/restart.h"

struct config;
struct err;

/* The keeper's process, as the daemon's first process knows it, and what it was started with. */
struct keeping {
	struct keeper_options o; /* store and sockets are this process's, too */
	int control; /* -1: it does not run */
	pid_t pid; /* 0: it does not run */
	struct restart restart;
	uint64_t again_ns; /* CLOCK_MONOTONIC */
	char socket[108]; /* path; "": none was made */
	char token_file[1024]; /* for o.tcp; read for each keeper, so that no other process keeps the token */
};

/* Opens the directory of the store and the socket that clients use. 0 or -errno. */
int keeping_open(struct keeping *k, const struct config *c, struct err *err);
int keeping_start(struct keeping *k, struct err *err);
bool keeping_ended(struct keeping *k, pid_t child, int status); /* false: another child */
int keeping_turn(struct keeping *k, struct err *err); /* starts it again when it is time */
/* Passes a worker's socket. capture: that it samples for, or 0: for the history. 0 or -errno. */
int keeping_feed(struct keeping *k, uint64_t capture, int socket);
bool keeping_asked(struct keeping *k,
		   struct keeper_message *ret); /* the next KEEPER_CAPTURE, which is not believed; never waits */
void keeping_numbers(struct keeping *k, const struct daemon_numbers *n); /* now, or if the keeper is busy, not */
void keeping_refuse(struct keeping *k, uint64_t id, const char *why);
void keeping_limits(struct keeping *k, const struct config *c); /* the configuration was read again */
void keeping_stop(struct keeping *k); /* waits for its end */
void keeping_close(struct keeping *k);

#endif
