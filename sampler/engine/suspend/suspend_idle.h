#ifndef JS_ENGINE_SUSPEND_IDLE_H
#define JS_ENGINE_SUSPEND_IDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "sampler/engine/suspend/suspend_threads.h"

/*
 * Threads that have been asleep for a while: has any of them run? One answer for all is in the CPU clock of
 * the process, which is the sum of what schedstat tells of its threads (thread_group_cputime() in
 * linux/kernel/sched/cputime.c): read before and after the threads that are awake, and the same both times, it
 * leaves over what the others used, to the nanosecond. When that has changed, idle threads are read one after
 * the other until the change is found. Where there is no such answer (too many threads are awake), a part of
 * them is read at each tick, so that one that wakes is met some ticks later, with all the time it used.
 */
struct suspend_idle {
	/* CPU time of the whole process, ended threads included; false: not known. Tests have one of their own. */
	bool (*read_clock)(const struct suspend_idle *s, uint64_t *ret_ns);
	clockid_t clock;

	bool sure; /* `gone_ns` is known */
	uint64_t known_ns; /* CPU time of the idle threads, as of when each was read */
	uint64_t gone_ns; /* of the process but neither of them nor of those awake: of threads that ended */

	bool scanning; /* the idle ones are being read, from the last to the first */
	size_t cursor;
	bool from_known;
	uint64_t from_ns; /* CPU time of all but the awake, when the scan began */
	size_t credit; /* threads that may be read */
	size_t ticks;
};

void suspend_idle_init(struct suspend_idle *s, struct suspend_threads *t);

/*
 * Once a tick: reads the accounts of those that are awake (th->now), and finds idle ones that have run. Those
 * are awake afterwards, and told to `woken`.
 */
void suspend_idle_find(struct suspend_idle *s, struct suspend_threads *t, suspend_thread_fn *woken, void *ctx);

/* A thread whose account is th->now, and as it was at its last look, becomes idle. */
void suspend_idle_add(struct suspend_idle *s, struct suspend_threads *t, struct suspend_thread *th);
/* An idle thread becomes awake for another reason than having run. */
void suspend_idle_remove(struct suspend_idle *s, struct suspend_threads *t, struct suspend_thread *th);

#endif
