#include "sampler/engine/suspend_stats.h"

#include <stddef.h>

enum { STEPS = 8, STEP_BITS = 3 };

static size_t bucket_of(uint64_t ns)
{
	unsigned power;
	size_t i;

	if (ns < STEPS)
		return ns;
	power = 63 - (unsigned)__builtin_clzll(ns);
	i = (size_t)(power - STEP_BITS + 1) * STEPS + (ns >> (power - STEP_BITS) & (STEPS - 1));
	return i < SUSPEND_BUCKETS ? i : SUSPEND_BUCKETS - 1;
}

/* The upper end of a bucket. */
static uint64_t bucket_end(size_t i)
{
	unsigned power = (unsigned)(i / STEPS) + STEP_BITS - 1;

	if (i < STEPS)
		return i;
	return (UINT64_C(1) << power) + ((i % STEPS + 1) << (power - STEP_BITS)) - 1;
}

void suspend_times_add(struct suspend_times *t, uint64_t ns)
{
	t->n++;
	t->bucket[bucket_of(ns)]++;
	if (ns > t->max_ns)
		t->max_ns = ns;
}

/* The time that at least `percent` percent of all times do not exceed. */
static uint64_t quantile(const struct suspend_times *t, unsigned percent)
{
	uint64_t wanted = (t->n * percent + 99) / 100, seen = 0, end;

	for (size_t i = 0; i < SUSPEND_BUCKETS; i++) {
		seen += t->bucket[i];
		if (seen < wanted || !seen)
			continue;
		end = bucket_end(i);
		return end < t->max_ns ? end : t->max_ns;
	}
	return t->max_ns;
}

struct suspend_quantiles suspend_times_of(const struct suspend_times *t)
{
	if (!t->n)
		return (struct suspend_quantiles){0};
	return (struct suspend_quantiles){t->n, quantile(t, 50), quantile(t, 99), t->max_ns};
}
