#include "symbolizer/base/u64map.h"

#include <stdlib.h>
#include <string.h>

static void slot_put(struct u64map *m, uint64_t key, uint32_t value)
{
	size_t i = hash_u64(key ^ m->seed);

	while (m->slots[i & (m->cap - 1)].key && m->slots[i & (m->cap - 1)].key != key)
		i++;
	m->n += m->slots[i & (m->cap - 1)].key == 0;
	m->slots[i & (m->cap - 1)] = (struct u64map_slot){key, value};
}

static bool map_grow(struct u64map *m)
{
	struct u64map old = *m;

	m->cap = old.cap ? old.cap * 2 : 64;
	m->seed = hash_secret();
	m->slots = calloc(m->cap, sizeof(*m->slots));
	if (!m->slots) {
		*m = old;
		return false;
	}
	m->n = 0;
	for (size_t i = 0; i < old.cap; i++)
		if (old.slots[i].key)
			slot_put(m, old.slots[i].key, old.slots[i].value);
	free(old.slots);
	return true;
}

bool u64map_put(struct u64map *m, uint64_t key, uint32_t value)
{
	if (key == 0 || ((m->n + 1) * 3 > m->cap * 2 && !map_grow(m)))
		return false;
	slot_put(m, key, value);
	return true;
}

/* Closes the gap, so that removed keys leave no markers that pile up. */
void u64map_remove(struct u64map *m, uint64_t key)
{
	size_t mask = m->cap - 1, hole, i;

	if (m->cap == 0 || key == 0)
		return;
	hole = hash_u64(key ^ m->seed) & mask;
	while (m->slots[hole].key != key) {
		if (m->slots[hole].key == 0)
			return;
		hole = (hole + 1) & mask;
	}
	m->n--;
	for (i = (hole + 1) & mask; m->slots[i].key; i = (i + 1) & mask) {
		size_t home = hash_u64(m->slots[i].key ^ m->seed) & mask;

		/* It may move into the hole only if its home slot is not after the hole. */
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		m->slots[hole] = m->slots[i];
		hole = i;
	}
	m->slots[hole] = (struct u64map_slot){0};
}

void u64map_clear(struct u64map *m)
{
	if (m->cap)
		memset(m->slots, 0, m->cap * sizeof(*m->slots));
	m->n = 0;
}

void u64map_done(struct u64map *m)
{
	free(m->slots);
	m->slots = NULL;
	m->cap = m->n = 0;
}
