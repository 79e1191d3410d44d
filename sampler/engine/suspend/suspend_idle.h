#ifndef JS_ENGINE_SUSPEND_IDLE_H
#define JS_ENGINE_SUSPEND_IDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "sampler/engine/suspend/suspend_threads.h"

/*
 * Finds out which of the threads that have been asleep for a while have run. The CPU clock of the process is the
 * exact sum of its threads' schedstat (thread_group_cputime() in linux/kernel/sched/cputime.c). It is read before and
 * after the accounts of the awake threads; if it is the same both times, the difference is what the idle threads have
 * used, to the nanosecond. If that has changed, idle threads are read one by one until the change is found. If the
 * clock changes in between (too many threads are awake), some idle threads are read at each tick, so that one that
 * wakes is found some ticks later, with all the time that it used.
 */
struct suspend_idle {
	/* CPU time of the whole process, including ended threads; false: unknown. Tests replace this. */
	bool (*read_clock)(const struct suspend_idle *s, uint64_t *ret_ns);
	clockid_t clock;

	bool sure; /* `gone_ns` is known */
	uint64_t known_ns; /* CPU time of the idle threads, each as of its last reading */
	uint64_t gone_ns; /* CPU time of threads that have ended */

	bool scanning; /* idle threads are being read, from the last to the first */
	size_t cursor;
	bool from_known;
	uint64_t from_ns; /* CPU time of all but the awake threads, when the scan began */
	size_t credit; /* threads that may be read */
	size_t ticks;
};

void suspend_idle_init(struct suspend_idle *s, struct suspend_threads *t);

/*
 * Once per tick: reads the accounts of awake threads (th->now), and finds idle threads that have run: `woken` is
 * called for these, which are awake from then on.
 */
void suspend_idle_find(struct suspend_idle *s, struct suspend_threads *t, suspend_thread_fn *woken, void *ctx);

/* A thread becomes idle; its account th->now has not changed since the last look. */
void suspend_idle_add(struct suspend_idle *s, struct suspend_threads *t, struct suspend_thread *th);
/* An idle thread becomes awake, although it has not run. */
void suspend_idle_remove(struct suspend_idle *s, struct suspend_threads *t, struct suspend_thread *th);

#endif
