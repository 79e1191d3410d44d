#ifndef JS_ATTRIBUTION_CACHE_H
#define JS_ATTRIBUTION_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/attribution/graph.h"

/*
 * Graphs by code id, of one or several JVMs. Owns the graphs. To stay within a memory limit, it frees the least
 * recently used ones of all JVMs.
 */
struct graph_cache;

struct graph_cache *graph_cache_new(size_t max_bytes);
void graph_cache_free(struct graph_cache *c);

uint32_t graph_cache_join(struct graph_cache *c); /* a number for one JVM, whose code ids are its own */
void graph_cache_leave(struct graph_cache *c, uint32_t jvm); /* frees its graphs */

/* true: known. *ret is borrowed until the next graph_cache_add(); NULL: the graph cannot be built. */
bool graph_cache_find(struct graph_cache *c, uint32_t jvm, uint32_t code_id, const struct graph **ret);

/* Takes over g (NULL: the graph cannot be built). -ENOMEM: g was freed. */
int graph_cache_add(struct graph_cache *c, uint32_t jvm, uint32_t code_id, struct graph *g);

#endif
