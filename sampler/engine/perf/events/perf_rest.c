#include "sampler/engine/perf/events/perf_rest.h"

#include <string.h>

enum { RESTS_APART = 8 };

static uint32_t place_of(pid_t tid, uint32_t i)
{
	return ((uint32_t)tid + i) % RESTS;
}

void perf_rests_add(struct perf_rests *r, pid_t tid, uint64_t rest)
{
	uint32_t free_at = RESTS;

	for (uint32_t i = 0; i < RESTS_APART; i++) {
		uint32_t at = place_of(tid, i);

		if (r->threads[at].rest && r->threads[at].tid == tid) {
			r->threads[at].rest += rest;
			return;
		}
		if (!r->threads[at].rest && free_at == RESTS)
			free_at = at;
	}
	if (free_at == RESTS)
		return;
	r->threads[free_at].tid = tid;
	r->threads[free_at].rest = rest;
}

uint64_t perf_rests_take(struct perf_rests *r, pid_t tid)
{
	for (uint32_t i = 0; i < RESTS_APART; i++) {
		uint32_t at = place_of(tid, i);
		uint64_t rest = r->threads[at].rest;

		if (!rest || r->threads[at].tid != tid)
			continue;
		r->threads[at].rest = 0;
		return rest;
	}
	return 0;
}

void perf_rests_replacing(struct perf_rests *r)
{
	memset(r->forked_fresh, 0, sizeof(r->forked_fresh));
}

void perf_rests_replaced(struct perf_rests *r)
{
	memcpy(r->forked, r->forked_fresh, sizeof(r->forked));
}

void perf_rests_fork(struct perf_rests *r, pid_t tid)
{
	r->forked[place_of(tid, 0)] = r->forked_fresh[place_of(tid, 0)] = true;
}

bool perf_rests_forked(const struct perf_rests *r, pid_t tid)
{
	return r->forked[place_of(tid, 0)];
}
