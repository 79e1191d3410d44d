#ifndef JS_ENGINE_ENGINE_STATS_H
#define JS_ENGINE_ENGINE_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/engine/suspend_stats.h"

/* What an engine has done so far, for the summary and for -v. */
struct engine_stats {
	uint64_t samples, lost, throttled; /* lost: by the kernel's rings and by our own queue */
	uint64_t lost_ring, lost_queue;
	uint32_t stack_bytes; /* size of the stack copy now */
	uint64_t followed, brief, refused; /* processes that the target started: see struct family */
	uint64_t children; /* followed processes running now */
	bool no_kernel; /* kernel chains were requested but are not permitted */
	/* Each thread is sampled by its own CPU time, from its start: how much of that has no sample is known
	 * exactly, not estimated. skips_kernel: time in the kernel never has a sample. */
	bool by_thread_time, skips_kernel;
	uint64_t lost_weight; /* of lost samples */
	/*
	 * The target's CPU clock when sampling began and ended, which may be later than start() and earlier than
	 * sampled(). 0: unknown.
	 */
	uint64_t cpu_begin_ns, cpu_end_ns;
	bool only_ended; /* threads that are still running lack no samples, whatever their accounts say */
	uint64_t max_sample_rate; /* the kernel's limit if it throttled events; 0: it did not */
	uint32_t threads; /* attached */
	const char *attachment; /* "thread x cpu events" or "cpu events with filter"; for -v */
	bool shares; /* its events on CPUs are also those of other engines (engine_ops.share) */
	const char *unit; /* of weights: "ns", "cycles", "page-faults", a tracepoint's name; lives as
			   * long as the engine. May be NULL (replay) */
	struct suspend_stats suspend; /* suspend only */
	uint64_t helper_cpu_ns; /* CPU time of the separate process that stops threads, if there is one */
};

#endif
