#include "symbolizer/attribution/cache.h"

#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/map.h"

struct cached {
	uint64_t key; /* JVM << 32 | code id */
	struct graph *graph;
	UT_hash_handle hh; /* its insertion order is the order of use */
};

struct graph_cache {
	struct cached *entries; /* least recently used first */
	size_t bytes, max_bytes;
	uint32_t jvms; /* numbers given */
};

struct graph_cache *graph_cache_new(size_t max_bytes)
{
	struct graph_cache *c = calloc(1, sizeof(*c));

	if (c)
		c->max_bytes = max_bytes;
	return c;
}

static size_t cached_size(const struct cached *e)
{
	return sizeof(*e) + (e->graph ? e->graph->bytes : 0);
}

static void entry_drop(struct graph_cache *c, struct cached *e)
{
	HASH_DEL(c->entries, e);
	c->bytes -= cached_size(e);
	graph_free(e->graph);
	free(e);
}

void graph_cache_free(struct graph_cache *c)
{
	if (!c)
		return;
	while (c->entries)
		entry_drop(c, c->entries);
	free(c);
}

static uint64_t key_of(uint32_t jvm, uint32_t code_id)
{
	return (uint64_t)jvm << 32 | code_id;
}

uint32_t graph_cache_join(struct graph_cache *c)
{
	return ++c->jvms;
}

void graph_cache_leave(struct graph_cache *c, uint32_t jvm)
{
	struct cached *e, *next;

	HASH_ITER(hh, c->entries, e, next)
	if (e->key >> 32 == jvm)
		entry_drop(c, e);
}

static bool entry_insert(struct graph_cache *c, struct cached *e)
{
	HASH_ADD(hh, c->entries, key, sizeof(e->key), e);
	return e->hh.tbl != NULL;
}

bool graph_cache_find(struct graph_cache *c, uint32_t jvm, uint32_t code_id, const struct graph **ret)
{
	uint64_t key = key_of(jvm, code_id);
	struct cached *e;

	HASH_FIND(hh, c->entries, &key, sizeof(key), e);
	if (!e)
		return false;
	*ret = e->graph;
	if (e->hh.next) {
		HASH_DEL(c->entries, e);
		if (!entry_insert(c, e)) {
			c->bytes -= cached_size(e);
			graph_free(e->graph);
			free(e);
			return false;
		}
	}
	return true;
}

int graph_cache_add(struct graph_cache *c, uint32_t jvm, uint32_t code_id, struct graph *g)
{
	struct cached *e = calloc(1, sizeof(*e));

	if (e) {
		e->key = key_of(jvm, code_id);
		e->graph = g;
	}
	if (!e || !entry_insert(c, e)) {
		graph_free(g);
		free(e);
		return -ENOMEM;
	}
	c->bytes += cached_size(e);
	while (c->bytes > c->max_bytes && c->entries != e)
		entry_drop(c, c->entries);
	return 0;
}
