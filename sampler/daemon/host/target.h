#ifndef JS_HOST_TARGET_H
#define JS_HOST_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/daemon/host/targets.h"
#include "sampler/daemon/supervise/restart.h"
#include "sampler/daemon/watch/watch.h"

#define TARGETS_FAILED_NS UINT64_C(60000000000) /* until sampling is tried again that could not begin */

/* One element of struct targets. Private to targets*.c. */
struct target {
	struct scan_found who;
	size_t slot;
	struct watch_how how;
	pid_t worker; /* 0: none of its own */
	bool wall; /* a rule wants its waiting threads, too */
	pid_t waller; /* the process that samples these; 0: none */
	bool replaced; /* it is another program now, and to be found anew */
	bool alone; /* it should have one of its own */
	bool joined; /* it is sampled together with others */
	int pidfd; /* while joined; otherwise -1 */
	uint32_t divisor, next; /* while joined: the worker's present one, and the next */
	bool left_out;
	uint64_t again_ns, wall_again_ns; /* when to start a worker; CLOCK_MONOTONIC */
	struct restart restart, wall_restart;
};

bool targets_room(struct targets *t, const struct scan_found *f); /* for one more; logs if there is none */

/* targets_own.c */
void targets_start_own(struct targets *t, struct target *one);
/* Samples its waiting threads, if a rule wants that and it is sampled anyway. */
void targets_turn_wall(struct targets *t, struct target *one, uint64_t now);
bool targets_wall_ended(struct targets *t, pid_t child, int status); /* false: another child */

struct governor *targets_governor(struct targets *t); /* NULL: out of memory */
void targets_ungovern(struct targets *t, const struct target *one);

#endif
