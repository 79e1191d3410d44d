#include "sampler/engine/perf/perf_thin.h"

#include "symbolizer/base/random.h"

/*
 * No more than 200 interrupts per second of CPU time, so only periods of 10 ms and more are divided: a shorter one was
 * requested, and its price with it. Threads that live for two periods do not depend on this. On one or two CPUs, each has
 * used a whole period on one of them and so has a sample, which also gets what the thread used besides (leftover.h).
 */
#define LEAST_PERIOD_NS UINT64_C(5000000)
#define LEAST_TAIL_NS UINT64_C(20000000) /* less proves nothing */
enum { TAIL_SHARE = 50, DIVISOR_MAX = 16 };

bool perf_thin_keep(struct perf_thin *t, pid_t tid, uint32_t k)
{
	size_t i = (uint32_t)tid % THIN_THREADS;

	if (t->threads[i].tid != tid) {
		t->threads[i].tid = tid;
		t->threads[i].n = random_below(&t->random, k);
	}
	return t->threads[i].n++ % k == 0;
}

void perf_tails_sample(struct perf_tails *t, pid_t tid)
{
	t->sampled[(uint32_t)tid % THIN_THREADS] = tid;
}

static uint64_t decide_first(struct perf_tails *t)
{
	uint32_t i = t->first;

	t->first = (i + 1) % TAILS;
	t->n--;
	return t->sampled[(uint32_t)t->ended[i].tid % THIN_THREADS] == t->ended[i].tid ? 0 : t->ended[i].tail_ns;
}

uint64_t perf_tails_ended(struct perf_tails *t, pid_t tid, uint64_t tail_ns, uint64_t now_ns)
{
	uint64_t unseen = 0;
	uint32_t at;

	while (t->n == TAILS || (t->n && now_ns - t->ended[t->first].time_ns >= TAIL_WAIT_NS))
		unseen += decide_first(t);
	at = (t->first + t->n++) % TAILS;
	t->ended[at].tid = tid;
	t->ended[at].tail_ns = tail_ns;
	t->ended[at].time_ns = now_ns;
	return unseen;
}

uint32_t perf_thin_divisor(uint64_t period_ns, uint32_t now, uint64_t tail_ns, uint64_t all_ns)
{
	uint64_t most = period_ns / LEAST_PERIOD_NS, k;

	if (most > DIVISOR_MAX)
		most = DIVISOR_MAX;
	if (tail_ns < LEAST_TAIL_NS || tail_ns * TAIL_SHARE <= all_ns || most <= now)
		return now;
	/* What threads that last for several periods leave over shrinks with the period. */
	k = now * ((tail_ns * TAIL_SHARE + all_ns - 1) / all_ns);
	return (uint32_t)(k < most ? k : most);
}
