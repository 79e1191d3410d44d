#ifndef JS_ENGINE_SUSPEND_STATS_H
#define JS_ENGINE_SUSPEND_STATS_H

#include <stdint.h>

/* What the suspend engine did to the target, and how long that took. */

/* Times by eighths of powers of two: quantiles are right to an eighth. Zero-initialise. */
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
	uint64_t ticks, late, skipped; /* late: by half a period; skipped: not done at all */
	uint64_t period_ns; /* asked for */
	uint64_t stops, looks; /* threads stopped; blocked ones looked at without */
	uint64_t late_stops; /* did not stop within --max-pause: copied when they did */
	uint64_t cut; /* copies of stacks that ended because of it */
	uint64_t again; /* observations of threads that had not run since the one before */
	uint64_t refused; /* another tracer had the thread */
	uint64_t rewound, lengthened; /* calls made again in place of EINTR; with a timeout begun anew */
	uint64_t interrupted; /* calls that did end with EINTR: a signal was there as well */
	uint64_t by_registers, by_account; /* opinions that it has run; by_account: registers did not tell */
	struct suspend_quantiles pause; /* from a thread's stop, as seen, to its resumption */
	struct suspend_quantiles stop; /* from asking a thread to its stop */
	struct suspend_quantiles copy; /* registers and stack of one thread */
	struct suspend_quantiles spread; /* of a tick: from its first stop to its last */
};

#endif
