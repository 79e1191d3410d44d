#include "symbolizer/base/tid_map.h"

#include <stdlib.h>

#include "symbolizer/base/map.h"

struct tid_node {
	UT_hash_handle hh;
	pid_t tid;
	_Alignas(max_align_t) unsigned char entry[];
};

static struct tid_node *node_of(const void *entry)
{
	return (struct tid_node *)((unsigned char *)(uintptr_t)entry - offsetof(struct tid_node, entry));
}

void *tid_map_find(const struct tid_map *m, pid_t tid)
{
	struct tid_node *n;

	HASH_FIND_INT(m->nodes, &tid, n);
	return n ? n->entry : NULL;
}

void *tid_map_get(struct tid_map *m, pid_t tid)
{
	void *found = tid_map_find(m, tid);
	struct tid_node *n;

	if (found || !(n = calloc(1, sizeof(*n) + m->size)))
		return found;
	n->tid = tid;
	HASH_ADD_INT(m->nodes, tid, n);
	if (n->hh.tbl)
		return n->entry;
	free(n);
	return NULL;
}

pid_t tid_map_tid(const void *entry)
{
	return node_of(entry)->tid;
}

size_t tid_map_count(const struct tid_map *m)
{
	return HASH_COUNT(m->nodes);
}

void *tid_map_next(const struct tid_map *m, const void *entry)
{
	struct tid_node *n = entry ? node_of(entry)->hh.next : m->nodes;

	return n ? n->entry : NULL;
}

void tid_map_drop(struct tid_map *m, void *entry)
{
	struct tid_node *n = node_of(entry);

	HASH_DEL(m->nodes, n);
	free(n);
}

void tid_map_clear(struct tid_map *m)
{
	map_free(m->nodes);
}
