#include "symbolizer/base/u64map.h"

#include <stdlib.h>
#include <string.h>

static void slot_put(struct u64map *m, uint64_t key, uint32_t value)
{
	size_t i = u64map_home_(m, key);

	while (m->slots[i].key && m->slots[i].key != key)
		i = probing_after(i, m->cap);
	m->n += m->slots[i].key == 0;
	m->slots[i] = (struct u64map_slot){key, value};
}

bool u64map_reserve(struct u64map *m, size_t n)
{
	struct u64map grown = {.cap = probing_cap(m->cap, n)};

	if (grown.cap == m->cap)
		return true;
	grown.seed = hash_secret();
	grown.slots = calloc(grown.cap, sizeof(*grown.slots));
	if (!grown.slots)
		return false;
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].key)
			slot_put(&grown, m->slots[i].key, m->slots[i].value);
	free(m->slots);
	*m = grown;
	return true;
}

bool u64map_put(struct u64map *m, uint64_t key, uint32_t value)
{
	if (key == 0 || !u64map_reserve(m, m->n + 1))
		return false;
	slot_put(m, key, value);
	return true;
}

static size_t distance(const struct u64map *m, size_t from, size_t to)
{
	return to >= from ? to - from : to + m->cap - from;
}

/* Closes the gap, so that removed keys leave no markers that pile up. */
void u64map_remove(struct u64map *m, uint64_t key)
{
	size_t hole, i;

	if (m->cap == 0 || key == 0)
		return;
	hole = u64map_home_(m, key);
	while (m->slots[hole].key != key) {
		if (m->slots[hole].key == 0)
			return;
		hole = probing_after(hole, m->cap);
	}
	m->n--;
	for (i = probing_after(hole, m->cap); m->slots[i].key; i = probing_after(i, m->cap)) {
		/* It may move into the hole only if its home slot is not after the hole. */
		if (distance(m, u64map_home_(m, m->slots[i].key), i) < distance(m, hole, i))
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
