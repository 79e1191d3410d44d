#include "sampler/engine/perf/perf_hold.h"

enum { BYTES_MAX = 4 << 20, YOUNG_PAUSE_MS = 100, NEW_PAUSE_MS = 250 };
#define YOUNG_NS UINT64_C(2000000000)
#define NEW_NS UINT64_C(30000000000)
#define WAIT_NS UINT64_C(1000000000)

bool perf_hold_new(struct perf_hold *h, uint64_t now_ns)
{
	return now_ns >= atomic_exchange(&h->new_ns, now_ns) + YOUNG_NS;
}

void perf_hold_urgent(struct perf_hold *h, uint64_t time_ns)
{
	if (time_ns > h->urgent_ns)
		h->urgent_ns = time_ns;
}

bool perf_hold_calm(const struct perf_hold *h, uint64_t now_ns)
{
	return now_ns >= atomic_load(&h->new_ns) + NEW_NS;
}

/* A process that has just begun ends soon more often than others, and loads all of its code. */
uint32_t perf_hold_pause_ms(const struct perf_hold *h, uint64_t now_ns)
{
	return now_ns < atomic_load(&h->new_ns) + YOUNG_NS ? YOUNG_PAUSE_MS : NEW_PAUSE_MS;
}

uint64_t perf_hold_left_ns(const struct perf_hold *h, uint64_t now_ns)
{
	return now_ns < h->taken_ns + WAIT_NS ? h->taken_ns + WAIT_NS - now_ns : 0;
}

bool perf_hold_may_wait(const struct perf_hold *h, size_t bytes, uint64_t now_ns)
{
	return perf_hold_calm(h, now_ns) && !h->urgent_ns && perf_hold_left_ns(h, now_ns) && bytes < BYTES_MAX;
}

void perf_hold_taken(struct perf_hold *h, uint64_t until_ns, uint64_t now_ns)
{
	h->taken_ns = now_ns;
	if (h->urgent_ns <= until_ns)
		h->urgent_ns = 0;
}
