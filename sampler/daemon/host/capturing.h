#ifndef JS_HOST_CAPTURING_H
#define JS_HOST_CAPTURING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/daemon/captures/captures.h"

struct keeping;
struct targets;

/*
 * Captures (captures.h), as the daemon's first process runs them: each is a process with events of its own, beside whatever samples the
 * target for the history. The keeper asks, and is not believed: only what is sampled anyway can be captured, within limits.
 */
struct capturing {
	struct {
		uint64_t id;
		pid_t child; /* 0: not used */
		pid_t pid;
	} list[CAPTURES_AT_ONCE];
	uint32_t max; /* of the configuration */
};

/* Takes what the keeper asks for, and starts it or refuses. */
void capturing_turn(struct capturing *c, const struct targets *t, struct keeping *k);
bool capturing_ended(struct capturing *c, pid_t child, int status); /* false: another child */
void capturing_stop(const struct capturing *c, int signal);
/* The processes that run now, which are not part of what the daemon may take for its history. */
size_t capturing_children(const struct capturing *c, pid_t ret[CAPTURES_AT_ONCE]);

#endif
