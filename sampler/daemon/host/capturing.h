#ifndef JS_HOST_CAPTURING_H
#define JS_HOST_CAPTURING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/daemon/captures/captures.h"
#include "sampler/daemon/host/stuck.h"

struct keeping;
struct targets;

/*
 * Captures (captures.h) in the daemon's first process. Each is a process with events of its own, in addition to what
 * samples the target for the history. The keeper's requests are not trusted: only targets that are sampled anyway can
 * be captured, within limits.
 */
struct capturing {
	struct {
		pid_t child; /* 0: not used */
		pid_t pid;
		uint64_t id; /* the keeper's number */
		uint64_t until_ns; /* it has ended by then, or is killed; CLOCK_MONOTONIC */
		struct stuck stuck;
		bool killed;
	} list[CAPTURES_AT_ONCE];
	uint32_t max; /* of the configuration */
};

/* Takes requests from the keeper, and starts or refuses captures. */
void capturing_turn(struct capturing *c, const struct targets *t, struct keeping *k);
/* Kills those that are stuck, and has the keeper say so. To be called once a second. */
void capturing_tend(struct capturing *c, const struct targets *t, struct keeping *k);
bool capturing_ended(struct capturing *c, const struct targets *t, pid_t child, int status); /* false: another child */
void capturing_stop(const struct capturing *c, int signal);
/* The capturing processes. Their CPU time does not count towards the daemon's limit. */
size_t capturing_children(const struct capturing *c, pid_t ret[CAPTURES_AT_ONCE]);

#endif
