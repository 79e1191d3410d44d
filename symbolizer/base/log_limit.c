#include "symbolizer/base/log_limit.h"

#include <errno.h>
#include <stdatomic.h>

#include "symbolizer/base/clock.h"
#include "symbolizer/base/shared_memory.h"

/*
 * A message is allowed while `spent_ns` is at most `burst` intervals ahead of the clock, and moves it by one interval. A process
 * that was taken over can write to the shared one: that silences only processes like it.
 */
struct bucket {
	_Atomic uint64_t spent_ns; /* CLOCK_MONOTONIC */
	_Atomic uint64_t left_out;
};

static struct {
	uint64_t interval_ns, burst_ns; /* 0: no limit */
	struct bucket own, *shared;
	enum log_limit_place place;
} limit;

int log_limit_set(uint32_t burst, uint64_t interval_ns)
{
	void *p = shared_memory_new(sizeof(struct bucket));

	if (!p)
		return -ENOMEM;
	shared_memory_free(limit.shared, sizeof(struct bucket));
	limit.shared = p;
	limit.own = (struct bucket){0};
	limit.interval_ns = interval_ns;
	limit.burst_ns = burst * interval_ns;
	limit.place = LOG_LIMIT_OWN;
	return 0;
}

void log_limit_share(void)
{
	limit.place = LOG_LIMIT_SHARED;
}

enum log_limit_place log_limit_place(void)
{
	return limit.place;
}

static struct bucket *bucket_of(enum log_limit_place place)
{
	return place == LOG_LIMIT_SHARED ? limit.shared : &limit.own;
}

static bool take(struct bucket *b)
{
	uint64_t now = clock_monotonic_ns(), before = atomic_load(&b->spent_ns), after;

	do {
		after = (before > now ? before : now) + limit.interval_ns;
		if (after > now + limit.burst_ns)
			return false;
	} while (!atomic_compare_exchange_weak(&b->spent_ns, &before, after));
	return true;
}

bool log_limit_allows(void)
{
	struct bucket *b = bucket_of(limit.place);

	if (!limit.burst_ns || !b || take(b))
		return true;
	atomic_fetch_add(&b->left_out, 1);
	return false;
}

uint64_t log_limit_left_out(enum log_limit_place place)
{
	struct bucket *b = bucket_of(place);

	if (!limit.burst_ns || !b || !atomic_load(&b->left_out) || !take(b))
		return 0;
	return atomic_exchange(&b->left_out, 0);
}
