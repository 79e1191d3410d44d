#ifndef JS_HOST_TARGET_H
#define JS_HOST_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/daemon/host/targets.h"
#include "sampler/daemon/supervise/restart.h"
#include "sampler/daemon/watch/watch.h"

/* One of struct targets, for the files that it is made of. */
struct target {
	struct scan_found who;
	size_t slot;
	struct watch_how how;
	pid_t worker; /* 0: none of its own */
	bool alone; /* it is to have one of its own */
	bool joined; /* it is sampled together with others */
	int pidfd; /* while joined; otherwise -1 */
	uint32_t divisor, next; /* while joined: that the worker knows, and that it is to have */
	bool left_out;
	uint64_t again_ns; /* when to start a worker; CLOCK_MONOTONIC */
	struct restart restart;
};

bool targets_room(struct targets *t, const struct scan_found *f); /* for one more; said if there is none */

struct governor *targets_governor(struct targets *t); /* NULL: out of memory */
void targets_ungovern(struct targets *t, const struct target *one);

#endif
