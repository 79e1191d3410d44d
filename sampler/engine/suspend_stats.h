#ifndef JS_ENGINE_SUSPEND_STATS_H
#define JS_ENGINE_SUSPEND_STATS_H

#include <stdint.h>

/* What the suspend engine did to the target, and how long that took. */

/* A histogram of times with eight buckets for each power of two: quantiles are exact to an eighth. Zero-initialise. */
enum { SUSPEND_BUCKETS = 320 };

struct suspend_times {
	uint64_t n, max_ns;
	uint64_t bucket[SUSPEND_BUCKETS];
};

void suspend_times_add(struct suspend_times *t, uint64_t ns);

struct suspend_quantiles {
	uint64_t n, p50_ns, p99_ns, max_ns;
};
struct suspend_quantiles suspend_times_of(const struct suspend_times *t);

struct suspend_stats {
	uint64_t ticks, late, skipped; /* late: by half a period or more; skipped: left out */
	uint64_t period_ns; /* as requested */
	uint64_t stops, looks; /* threads stopped; blocked threads sampled without being stopped */
	uint64_t late_stops; /* threads that did not stop within --max-pause, and were copied when they did */
	uint64_t cut; /* copies of stacks that --max-pause ended */
	uint64_t again; /* observations of threads that had not run since the previous one */
	uint64_t refused; /* another tracer had the thread */
	uint64_t rewound,
		lengthened; /* system calls repeated instead of failing with EINTR; those whose timeout started anew */
	uint64_t interrupted; /* calls that did fail with EINTR, because a signal came as well */
	uint64_t by_registers,
		by_account; /* threads found to have run by their registers; only by the kernel's account */
	struct suspend_quantiles pause; /* from seeing a thread stopped to resuming it */
	struct suspend_quantiles stop; /* from asking a thread to stop to its stop */
	struct suspend_quantiles copy; /* registers and stack of one thread */
	struct suspend_quantiles spread; /* of a tick: from its first stop to its last */
};

#endif
