#ifndef JS_ENGINE_PERF_REST_H
#define JS_ENGINE_PERF_REST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * What threads used after the last sample of events that have been replaced. New events begin with a whole period to
 * go, so each replacement would lose half a period on average, on each CPU of each thread. The events' counts say how
 * much it was; the thread's next sample counts for it too. Zero-initialise.
 */
enum { RESTS = 1024 };

struct perf_rests {
	struct {
		pid_t tid;
		uint64_t rest; /* in the event's unit; 0: this place is free */
	} threads[RESTS]; /* by tid, or up to RESTS_APART places further on */
	/* By tid: such a thread has started another one, which inherited its current events, or those that are being
	 * opened to replace them. */
	bool forked[RESTS], forked_fresh[RESTS];
};

/* The rest is lost if there is no room for another thread. */
void perf_rests_add(struct perf_rests *r, pid_t tid, uint64_t rest);

/* Returns and removes the thread's rest. */
uint64_t perf_rests_take(struct perf_rests *r, pid_t tid);

/*
 * Call before the first event that is to replace others is opened. From then on, a thread that is started inherits both
 * the current event and the new one, even while that is disabled.
 */
void perf_rests_replacing(struct perf_rests *r);
/* The threads' events have been replaced by those opened since perf_rests_replacing(). */
void perf_rests_replaced(struct perf_rests *r);
void perf_rests_fork(struct perf_rests *r, pid_t tid);
bool perf_rests_forked(const struct perf_rests *r, pid_t tid); /* true for all tids of that place */

#endif
