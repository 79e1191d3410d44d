#include "jvm-bridge/peer/code_map.h"

#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/arena.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/base/map.h"

enum {
	PAGE_BITS = 12,
	MAX_CODE = 8 << 20, /* bytes; HotSpot's largest methods are far below */
	MAX_LOOKS = 1 << 14, /* ended entries examined per lookup; only an attacker creates more */
	MAX_LIVE = 128, /* in a page; HotSpot's code begins at least 64 bytes apart */
};

/* The JVM reports code a little after it began to run. */
#define EARLY_NS UINT64_C(1000000000)

struct node {
	struct timeline_code *code;
	struct node *next;
};

struct page {
	uint64_t number;
	struct node *live, *ended; /* `ended` has the latest first */
	uint32_t n_live;
	UT_hash_handle hh;
};

struct code_map {
	struct page *pages;
	struct arena arena; /* pages and nodes */
};

struct code_map *code_map_new(void)
{
	return calloc(1, sizeof(struct code_map));
}

void code_map_free(struct code_map *m)
{
	if (!m)
		return;
	HASH_CLEAR(hh, m->pages);
	arena_done(&m->arena);
	free(m);
}

size_t code_map_bytes(const struct code_map *m)
{
	return m->arena.bytes + HASH_COUNT(m->pages) * 2 * sizeof(void *);
}

static struct page *page_find(const struct code_map *m, uint64_t number)
{
	struct page *p;

	HASH_FIND(hh, m->pages, &number, sizeof(number), p);
	return p;
}

static struct page *page_get(struct code_map *m, uint64_t number)
{
	struct page *p = page_find(m, number);

	if (p)
		return p;
	p = arena_alloc(&m->arena, sizeof(*p));
	if (!p)
		return NULL;
	p->number = number;
	HASH_ADD(hh, m->pages, number, sizeof(p->number), p);
	return p->hh.tbl ? p : NULL;
}

static uint64_t first_page(uint64_t begin)
{
	return begin >> PAGE_BITS;
}

static uint64_t last_page(uint64_t begin, uint32_t size)
{
	return (begin + size - 1) >> PAGE_BITS;
}

static bool holds(const struct timeline_code *c, uint64_t addr)
{
	return addr >= c->begin && addr - c->begin < c->size;
}

static bool overlaps(const struct timeline_code *c, uint64_t begin, uint32_t size)
{
	return c->begin < begin + size && begin < c->begin + c->size;
}

void code_map_end(struct code_map *m, struct timeline_code *c, uint64_t time)
{
	if (c->to != TIMELINE_ALIVE)
		return;
	c->to = time > c->from ? time : c->from;
	for (uint64_t n = first_page(c->begin); n <= last_page(c->begin, c->size); n++) {
		struct page *p = page_find(m, n);

		for (struct node **at = p ? &p->live : NULL; at && *at; at = &(*at)->next) {
			struct node *node = *at;

			if (node->code != c)
				continue;
			*at = node->next;
			p->n_live--;
			node->next = p->ended;
			p->ended = node;
			break;
		}
	}
}

static struct timeline_code *live_overlap(const struct code_map *m, uint64_t begin, uint32_t size, uint64_t page)
{
	const struct page *p = page_find(m, page);

	for (const struct node *n = p ? p->live : NULL; n; n = n->next)
		if (overlaps(n->code, begin, size))
			return n->code;
	return NULL;
}

void code_map_end_range(struct code_map *m, uint64_t begin, uint32_t size, uint64_t time)
{
	struct timeline_code *c;

	if (!size || size > MAX_CODE || begin + size < begin)
		return;
	for (uint64_t n = first_page(begin); n <= last_page(begin, size); n++)
		while ((c = live_overlap(m, begin, size, n)))
			code_map_end(m, c, time);
}

int code_map_add(struct code_map *m, struct timeline_code *c)
{
	if (!c->size || c->size > MAX_CODE || c->begin + c->size < c->begin)
		return -E2BIG;
	code_map_end_range(m, c->begin, c->size, c->from);
	for (uint64_t n = first_page(c->begin); n <= last_page(c->begin, c->size); n++) {
		struct page *p = page_get(m, n);
		bool full = p && p->n_live >= MAX_LIVE;
		struct node *node = p && !full ? arena_alloc(&m->arena, sizeof(*node)) : NULL;

		if (!node) {
			code_map_end(m, c, c->from);
			return full ? -E2BIG : -ENOMEM;
		}
		node->code = c;
		node->next = p->live;
		p->live = node;
		p->n_live++;
	}
	return 0;
}

struct timeline_code *code_map_live(const struct code_map *m, uint64_t addr)
{
	const struct page *p = page_find(m, addr >> PAGE_BITS);

	for (const struct node *n = p ? p->live : NULL; n; n = n->next)
		if (holds(n->code, addr))
			return n->code;
	return NULL;
}

/* The code at that time, otherwise the first that came soon after. */
struct timeline_code *code_map_find(const struct code_map *m, uint64_t addr, uint64_t time)
{
	const struct page *p = page_find(m, addr >> PAGE_BITS);
	struct timeline_code *soon = NULL, *c = code_map_live(m, addr);
	const struct node *n = p ? p->ended : NULL;

	if (c && c->from <= time)
		return c;
	if (c && c->from - time < EARLY_NS)
		soon = c;
	for (int looks = 0; n && looks < MAX_LOOKS; n = n->next, looks++) {
		c = n->code;
		if (!holds(c, addr))
			continue;
		if (c->from <= time && time < c->to)
			return c;
		if (c->from > time && c->from - time < EARLY_NS && (!soon || c->from < soon->from))
			soon = c;
	}
	return soon;
}
