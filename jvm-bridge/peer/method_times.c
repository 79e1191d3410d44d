#include "jvm-bridge/peer/method_times.h"

#include <errno.h>
#include <stdlib.h>

#include "jvm-bridge/peer/timeline.h"
#include "symbolizer/base/arena.h"
#include "symbolizer/base/map.h"

enum { MAX_LOOKS = 1 << 14 }; /* methods of one address examined per lookup; only an attacker creates more */

struct method_time {
	uint64_t from, to; /* as in timeline_code */
	struct method_time *before;
	uint32_t method; /* number */
	uint32_t replay; /* the last replay that contained it */
};

struct place {
	uint64_t addr;
	struct method_time *last;
	UT_hash_handle hh;
};

struct method_times {
	struct place *places;
	struct arena arena;
};

struct method_times *method_times_new(void)
{
	return calloc(1, sizeof(struct method_times));
}

void method_times_free(struct method_times *l)
{
	if (!l)
		return;
	HASH_CLEAR(hh, l->places);
	arena_done(&l->arena);
	free(l);
}

size_t method_times_bytes(const struct method_times *l)
{
	return l->arena.bytes + HASH_COUNT(l->places) * 2 * sizeof(void *);
}

size_t method_times_count(const struct method_times *l)
{
	return HASH_COUNT(l->places);
}

static struct place *place_find(const struct method_times *l, uint64_t addr)
{
	struct place *p;

	HASH_FIND(hh, l->places, &addr, sizeof(addr), p);
	return p;
}

static struct place *place_get(struct method_times *l, uint64_t addr)
{
	struct place *p = place_find(l, addr);

	if (p)
		return p;
	p = arena_alloc(&l->arena, sizeof(*p));
	if (!p)
		return NULL;
	*p = (struct place){.addr = addr};
	HASH_ADD(hh, l->places, addr, sizeof(p->addr), p);
	return p->hh.tbl ? p : NULL;
}

static void method_time_end(struct method_time *life, uint64_t time)
{
	if (life->to == TIMELINE_ALIVE)
		life->to = time > life->from ? time : life->from;
}

int method_times_add(struct method_times *l, uint64_t addr, uint32_t method, uint64_t from, uint32_t replay)
{
	struct place *p = place_get(l, addr);
	struct method_time *life;

	if (!p)
		return -ENOMEM;
	if (p->last && p->last->method == method && p->last->to == TIMELINE_ALIVE) {
		p->last->replay = replay;
		return 0;
	}
	life = arena_alloc(&l->arena, sizeof(*life));
	if (!life)
		return -ENOMEM;
	*life = (struct method_time){from, TIMELINE_ALIVE, p->last, method, replay};
	if (p->last)
		method_time_end(p->last, from);
	p->last = life;
	return 0;
}

void method_times_end_others(struct method_times *l, uint32_t replay, uint64_t sure)
{
	for (struct place *p = l->places; p; p = p->hh.next)
		if (p->last && p->last->replay != replay)
			method_time_end(p->last, sure);
}

uint32_t method_times_find(const struct method_times *l, uint64_t addr, uint64_t time)
{
	const struct place *p = place_find(l, addr);
	struct method_time *life = p ? p->last : NULL;

	for (int looks = 0; life && looks < MAX_LOOKS; life = life->before, looks++)
		if (life->from <= time)
			return time < life->to ? life->method : 0;
	return 0;
}
