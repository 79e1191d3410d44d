#ifndef JS_HOST_KEEPING_H
#define JS_HOST_KEEPING_H

#include <stdbool.h>
#include <sys/types.h>

#include "sampler/daemon/host/stuck.h"
#include "sampler/daemon/keeper/keeper.h"
#include "sampler/daemon/supervise/restart.h"

struct config;
struct err;

/* The keeper's process, as seen by the daemon's first process, and what it was started with. */
struct keeping {
	struct keeper_options o; /* store and sockets are also open in this process */
	int control; /* non-blocking; -1: it does not run, or was killed */
	pid_t pid; /* 0: it does not run */
	uint64_t told, answered; /* KEEPER_STATE, and KEEPER_ALIVE */
	struct stuck stuck;
	struct restart restart;
	uint64_t again_ns; /* CLOCK_MONOTONIC */
	char socket[108]; /* path; "": none was made */
	char token_file[1024]; /* for o.tcp; read anew for each keeper, so that no other process keeps the token */
};

/* Opens the directory of the store and the socket that clients use. 0 or -errno. */
int keeping_open(struct keeping *k, const struct config *c, struct err *err);
int keeping_start(struct keeping *k, struct err *err);
bool keeping_ended(struct keeping *k, pid_t child, int status); /* false: another child */
/* Ends one that is stuck, for example in a file system that does not answer, and restarts it when it is time. */
int keeping_turn(struct keeping *k, struct err *err);
/* Passes a worker's socket to it. capture: the one that the worker samples for; 0: the history. 0 or -errno. */
int keeping_feed(struct keeping *k, uint64_t capture, int socket);
bool keeping_asked(struct keeping *k,
		   struct keeper_message *ret); /* the next KEEPER_CAPTURE, which is not trusted; never waits */
void keeping_numbers(struct keeping *k, const struct daemon_numbers *n); /* dropped if the keeper is busy */
void keeping_refuse(struct keeping *k, uint64_t id, const struct err *why); /* that capture, or it has failed */
void keeping_limits(struct keeping *k, const struct config *c); /* the configuration was read again */
/* Waits for its end, at most STOP_MS, and then END_MS after killing it. */
void keeping_stop(struct keeping *k);
void keeping_close(struct keeping *k);

#endif
