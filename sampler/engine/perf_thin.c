#include "sampler/engine/perf_thin.h"

#define LEAST_PERIOD_NS UINT64_C(1000000)
#define LEAST_TAIL_NS UINT64_C(20000000) /* less says nothing */
enum { TAIL_SHARE = 50, DIVISOR_MAX = 16 };

static uint32_t draw(struct perf_thin *t)
{
	t->random = t->random * 1664525 + 1013904223;
	return t->random >> 8;
}

bool perf_thin_keep(struct perf_thin *t, pid_t tid, uint32_t k)
{
	size_t i = (uint32_t)tid % THIN_THREADS;

	if (t->threads[i].tid != tid) {
		t->threads[i].tid = tid;
		t->threads[i].n = draw(t) % k;
	}
	return t->threads[i].n++ % k == 0;
}

uint32_t perf_thin_divisor(uint64_t period_ns, uint32_t now, uint64_t tail_ns, uint64_t all_ns)
{
	uint64_t most = period_ns / LEAST_PERIOD_NS, k;

	if (most > DIVISOR_MAX)
		most = DIVISOR_MAX;
	if (tail_ns < LEAST_TAIL_NS || tail_ns * TAIL_SHARE <= all_ns || most <= now)
		return now;
	/* Of threads that last for several periods, what is left over shrinks with the period. */
	k = now * ((tail_ns * TAIL_SHARE + all_ns - 1) / all_ns);
	return (uint32_t)(k < most ? k : most);
}
