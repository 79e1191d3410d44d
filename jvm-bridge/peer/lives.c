#include "jvm-bridge/peer/lives.h"

#include <errno.h>
#include <stdlib.h>

#include "jvm-bridge/peer/timeline.h"
#include "symbolizer/base/arena.h"
#include "symbolizer/base/map.h"

enum { MAX_LOOKS = 1 << 14 }; /* methods of one address examined per lookup; only an attacker creates more */

struct life {
	uint64_t from, to; /* as in timeline_code */
	struct life *before;
	uint32_t method; /* number */
	uint32_t replay; /* the last replay that contained it */
};

struct place {
	uint64_t addr;
	struct life *last;
	UT_hash_handle hh;
};

struct lives {
	struct place *places;
	struct arena arena;
};

struct lives *lives_new(void)
{
	return calloc(1, sizeof(struct lives));
}

void lives_free(struct lives *l)
{
	if (!l)
		return;
	HASH_CLEAR(hh, l->places);
	arena_done(&l->arena);
	free(l);
}

size_t lives_bytes(const struct lives *l)
{
	return l->arena.bytes + HASH_COUNT(l->places) * 2 * sizeof(void *);
}

size_t lives_count(const struct lives *l)
{
	return HASH_COUNT(l->places);
}

static struct place *place_find(const struct lives *l, uint64_t addr)
{
	struct place *p;

	HASH_FIND(hh, l->places, &addr, sizeof(addr), p);
	return p;
}

static struct place *place_get(struct lives *l, uint64_t addr)
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

static void life_end(struct life *life, uint64_t time)
{
	if (life->to == TIMELINE_ALIVE)
		life->to = time > life->from ? time : life->from;
}

int lives_add(struct lives *l, uint64_t addr, uint32_t method, uint64_t from, uint32_t replay)
{
	struct place *p = place_get(l, addr);
	struct life *life;

	if (!p)
		return -ENOMEM;
	if (p->last && p->last->method == method && p->last->to == TIMELINE_ALIVE) {
		p->last->replay = replay;
		return 0;
	}
	life = arena_alloc(&l->arena, sizeof(*life));
	if (!life)
		return -ENOMEM;
	*life = (struct life){from, TIMELINE_ALIVE, p->last, method, replay};
	if (p->last)
		life_end(p->last, from);
	p->last = life;
	return 0;
}

void lives_end_others(struct lives *l, uint32_t replay, uint64_t sure)
{
	for (struct place *p = l->places; p; p = p->hh.next)
		if (p->last && p->last->replay != replay)
			life_end(p->last, sure);
}

uint32_t lives_find(const struct lives *l, uint64_t addr, uint64_t time)
{
	const struct place *p = place_find(l, addr);
	struct life *life = p ? p->last : NULL;

	for (int looks = 0; life && looks < MAX_LOOKS; life = life->before, looks++)
		if (life->from <= time)
			return time < life->to ? life->method : 0;
	return 0;
}
