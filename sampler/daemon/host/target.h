#ifndef JS_HOST_TARGET_H
#define JS_HOST_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/daemon/host/stuck.h"
#include "sampler/daemon/host/targets.h"
#include "sampler/daemon/supervise/quarantine.h"
#include "sampler/daemon/supervise/restart.h"
#include "sampler/daemon/watch/watch.h"

/* A process that samples one target only. */
struct own_child {
	pid_t pid; /* 0: it does not run */
	uint64_t again_ns; /* when to start it; CLOCK_MONOTONIC */
	uint64_t kill_ns; /* when to kill it, since it was told to end; 0: it was not, UINT64_MAX: it was killed */
	struct restart restart;
	struct stuck stuck;
};

/* One element of struct targets. Private to targets*.c. */
struct target {
	struct scan_found who;
	size_t slot;
	struct watch_how how;
	struct own_child cpu, wall; /* wall: samples its waiting threads, too */
	bool waits; /* a rule wants these */
	bool replaced; /* it is another program now, and to be found anew */
	bool alone; /* it should have a process of its own, whatever the rules say */
	bool alone_by_rule; /* the same, because of a rule */
	bool joined; /* it is sampled together with others */
	int pidfd; /* -1: the kernel has none, or too few descriptors are left */
	bool ended; /* pidfd has shown that */
	uint32_t divisor, next; /* while joined: the worker's present one, and the next */
	enum broker_why why; /* what `next` is for */
	bool left_out;
};

static inline struct quarantine_who target_blamed(const struct target *one)
{
	return (struct quarantine_who){one->who.pid, one->who.start_ticks, one->who.uid};
}

bool targets_room(struct targets *t, const struct scan_found *f); /* for one more; logs if there is none */

struct target *targets_joined(const struct targets *t, uint64_t slot); /* of those sampled together; NULL: none */
void targets_leave(struct targets *t, struct target *one); /* it is not sampled together with others from now on */
void targets_take_reports(struct targets *t); /* of the process that samples targets together; it may have ended */

/* targets_ends.c: which targets have ended */
int targets_open_ends(struct targets *t, struct err *err);
void targets_close_ends(struct targets *t);
void targets_watch_end(struct targets *t, struct target *one); /* of a new one; only once */
void targets_forget_end(const struct targets *t, struct target *one);
void targets_take_ends(struct targets *t); /* to be called before targets_has_ended() */
bool targets_has_ended(const struct target *one);

/* targets_own.c */
void targets_start_own(struct targets *t, struct target *one);
/* Samples its waiting threads, if a rule wants that and it is sampled anyway. */
void targets_turn_wall(struct targets *t, struct target *one, uint64_t now);
void targets_end_own(struct own_child *c, uint64_t now); /* if it runs */
bool targets_own_ended(struct targets *t, pid_t child, int status, uint64_t now); /* false: another child */
/*
 * What a worker wants, which a target may have taken over: only what a rule can say. hz 0: as it is. false: nothing
 * changes.
 */
bool targets_take_how(const struct targets *t, struct target *one, uint32_t hz, bool suspend);

/* Has a target sampled together with others from now on, or until targets_ungovern(). Returns its divisor. */
uint32_t targets_begin_govern(struct targets *t, const struct target *one);
/* A rule wants it sampled hz times a second, which is not more than the others. From a worker that may lie. */
void targets_take_hz(struct targets *t, struct target *one, uint32_t hz);
void targets_ungovern(struct targets *t, const struct target *one);

#endif
