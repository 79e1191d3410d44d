#include "symbolizer/attribution/cache.h"

#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/map.h"

struct cached {
	uint32_t code_id;
	struct graph *graph;
	UT_hash_handle hh; /* its insertion order is the order of use */
};

struct graph_cache {
	struct cached *entries; /* least recently used first */
	size_t bytes, max_bytes;
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

static bool entry_insert(struct graph_cache *c, struct cached *e)
{
	HASH_ADD(hh, c->entries, code_id, sizeof(e->code_id), e);
	return e->hh.tbl != NULL;
}

bool graph_cache_find(struct graph_cache *c, uint32_t code_id, const struct graph **ret)
{
	struct cached *e;

	HASH_FIND(hh, c->entries, &code_id, sizeof(code_id), e);
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

int graph_cache_add(struct graph_cache *c, uint32_t code_id, struct graph *g)
{
	struct cached *e = calloc(1, sizeof(*e));

	if (e) {
		e->code_id = code_id;
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
