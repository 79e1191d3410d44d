#ifndef JS_HPROF_MAP_H
#define JS_HPROF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Hash tables of records whose first member is a struct link. The caller compares keys: map_first() and map_next()
 * return the records with one hash. The table owns only its heads.
 */
struct link {
	struct link *next;
	uint64_t hash;
};

struct map {
	struct link **heads;
	size_t cap, n; /* cap: 0, or a power of two */
};

static inline uint64_t map_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static inline struct link *map_skip(struct link *l, uint64_t hash)
{
	while (l && l->hash != hash)
		l = l->next;
	return l;
}

static inline struct link *map_first(const struct map *m, uint64_t hash)
{
	return m->cap ? map_skip(m->heads[hash & (m->cap - 1)], hash) : NULL;
}

static inline struct link *map_next(const struct link *l)
{
	return map_skip(l->next, l->hash);
}

static inline bool map_grow(struct map *m)
{
	size_t cap = m->cap ? m->cap * 2 : 64;
	struct link **heads = calloc(cap, sizeof(*heads)), *next;

	if (!heads)
		return m->cap != 0; /* the old table still works, only fuller */
	for (size_t i = 0; i < m->cap; i++)
		for (struct link *l = m->heads[i]; l; l = next) {
			next = l->next;
			l->next = heads[l->hash & (cap - 1)];
			heads[l->hash & (cap - 1)] = l;
		}
	free(m->heads);
	m->heads = heads;
	m->cap = cap;
	return true;
}

/* false: out of memory. */
static inline bool map_add(struct map *m, struct link *l, uint64_t hash)
{
	if (m->n >= m->cap && !map_grow(m))
		return false;
	l->hash = hash;
	l->next = m->heads[hash & (m->cap - 1)];
	m->heads[hash & (m->cap - 1)] = l;
	m->n++;
	return true;
}

static inline void map_remove(struct map *m, struct link *l)
{
	struct link **at = m->cap ? &m->heads[l->hash & (m->cap - 1)] : NULL;

	while (at && *at && *at != l)
		at = &(*at)->next;
	if (at && *at) {
		*at = l->next;
		m->n--;
	}
}

#endif
