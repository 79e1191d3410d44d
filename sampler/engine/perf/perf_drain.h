#ifndef JS_ENGINE_PERF_DRAIN_H
#define JS_ENGINE_PERF_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/engine/perf/perf_intake.h"

struct engine_options;
struct err;
struct perf_attach;
struct proc;
struct sample_queue;

/* How long a program that starts is followed closely. */
#define PERF_DRAIN_START_NS UINT64_C(2000000000)

/*
 * A thread that empties the kernel's rings into the queue, and does nothing that takes long, because what finds no room in a
 * ring is lost. It also has the policy adapt the events, and notices the end of the target.
 */
struct perf_drain;

struct perf_drain_stats {
	struct perf_intake_stats in;
	uint32_t stack_bytes;
	bool target_ended;
	uint64_t followed, brief, refused; /* struct family */
	uint64_t alive; /* of those that are followed */
	int on; /* enum perf_attach_on, where events could be on CPUs */
	uint64_t cpu_begin_ns, cpu_end_ns; /* struct engine_stats */
};

/* `attach` is used by the drain thread alone from perf_drain_start() until perf_drain_close(). */
int perf_drain_new(struct proc *proc, struct perf_attach *attach, struct sample_queue *q,
		   const struct engine_options *o, struct perf_drain **ret, struct err *err);
/* Returns when the drain thread has enabled the events. */
int perf_drain_start(struct perf_drain *d, struct err *err);

/* Async-signal-safe: ends sampling; the rings are emptied once more. */
void perf_drain_stop(struct perf_drain *d);
/* Stops, and waits for the thread: nothing is put into the queue after that. */
void perf_drain_finish(struct perf_drain *d);
/* Has it ended, with everything in the queue? */
bool perf_drain_done(const struct perf_drain *d);

/* Consumer: waits until the queue may have something, the drain is done, or `until_ns`
 * (CLOCK_MONOTONIC, 0: no limit). */
void perf_drain_wait(struct perf_drain *d, uint64_t until_ns);

/* Consumer, while each sample of a target that starts wakes it: it has used `ns` of CPU time on that CPU. */
void perf_drain_used(struct perf_drain *d, int cpu, uint64_t ns);

struct perf_drain_stats perf_drain_stats(const struct perf_drain *d);
void perf_drain_close(struct perf_drain *d); /* stops, joins */

#endif
