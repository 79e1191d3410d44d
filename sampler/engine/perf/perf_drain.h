#ifndef JS_ENGINE_PERF_DRAIN_H
#define JS_ENGINE_PERF_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

struct engine_options;
struct err;
struct perf_attach;
struct proc;
struct sample_queue;

/* A program that starts is followed closely for so long. */
#define PERF_DRAIN_START_NS UINT64_C(2000000000)

/*
 * A thread that empties the kernel's rings into the queue and does nothing slow: what it is late
 * for is lost. It also reads the rest of stacks that were cut, adapts the size of the stack copy,
 * and notices the end of the target.
 */
struct perf_drain;

struct perf_drain_stats {
	uint64_t lost_ring, lost_samples, lost_queue, throttled, foreign, malformed;
	uint64_t cut, rest_joined, rest_refused; /* stacks deeper than their copy; what became of them */
	uint64_t lost_weight; /* of lost_ring: less than as many periods where samples were to be thinned out */
	uint32_t stack_bytes;
	bool target_ended;
	uint64_t followed, brief, refused; /* struct family */
	uint64_t alive; /* of those that are followed */
	int on; /* enum perf_attach_on, where events could be on CPUs */
};

/* `attach` is used by the drain thread alone from perf_drain_start() until perf_drain_close(). */
int perf_drain_new(struct proc *proc, struct perf_attach *attach, struct sample_queue *q,
		   const struct engine_options *o, struct perf_drain **ret, struct err *err);
/* The drain thread enables the events itself, so that none fills a ring unseen. Returns when it has. */
int perf_drain_start(struct perf_drain *d, struct err *err);

/* Async-signal-safe: sampling ends, the rings are emptied once more. */
void perf_drain_stop(struct perf_drain *d);
/* Stops, and returns when the thread has ended: nothing is pushed any more. */
void perf_drain_finish(struct perf_drain *d);
/* Stopped and everything is in the queue. */
bool perf_drain_done(const struct perf_drain *d);

/* Consumer: waits until the queue may have something, the drain is done, or `until_ns`
 * (CLOCK_MONOTONIC, 0: no limit). */
void perf_drain_wait(struct perf_drain *d, uint64_t until_ns);

/* Consumer, while it is woken by each sample of a target that starts: it has used `ns` of that CPU. */
void perf_drain_used(struct perf_drain *d, int cpu, uint64_t ns);

struct perf_drain_stats perf_drain_stats(const struct perf_drain *d);
void perf_drain_close(struct perf_drain *d); /* stops, joins */

#endif
