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

/* How long a starting program is followed closely. */
#define PERF_DRAIN_START_NS UINT64_C(2000000000)

/*
 * A thread that moves records from the kernel's rings to the queue. It does nothing that takes long, because a record
 * that finds no room in a ring is lost. It also has the policy adapt the events, and notices the end of the target.
 */
struct perf_drain;

struct perf_drain_stats {
	struct perf_intake_stats in;
	uint32_t stack_bytes;
	bool target_ended;
	uint64_t followed, brief, refused; /* see struct family */
	uint64_t alive; /* followed processes that are alive */
	int on; /* enum perf_attach_on, if events could be on CPUs */
	bool shares; /* its events on CPUs are also those of other targets */
	uint64_t cpu_begin_ns, cpu_end_ns; /* see struct engine_stats */
};

/* Only the drain thread uses `attach` from perf_drain_start() until perf_drain_close(). */
int perf_drain_new(struct proc *proc, struct perf_attach *attach, struct sample_queue *q,
		   const struct engine_options *o, struct perf_drain **ret, struct err *err);
/* Returns when the drain thread has enabled the events. */
int perf_drain_start(struct perf_drain *d, struct err *err);

/* Async-signal-safe. Ends sampling; the rings are emptied once more. */
void perf_drain_stop(struct perf_drain *d);
/* Stops the thread and waits for it: nothing is queued after that. */
void perf_drain_finish(struct perf_drain *d);
/* Has it ended, with everything in the queue? */
bool perf_drain_done(const struct perf_drain *d);

/* Consumer: waits until the queue may have something, the drain thread is done, or `until_ns` (CLOCK_MONOTONIC, 0: no
 * limit). */
void perf_drain_wait(struct perf_drain *d, uint64_t until_ns);

/* Consumer, while each sample of a starting target wakes it: it has used `ns` of CPU time on that CPU. */
void perf_drain_used(struct perf_drain *d, int cpu, uint64_t ns);

struct perf_drain_stats perf_drain_stats(const struct perf_drain *d);
void perf_drain_close(struct perf_drain *d); /* stops, joins */

#endif
