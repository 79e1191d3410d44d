#include "symbolizer/base/u64map.h"

#include <stdlib.h>
#include <string.h>

enum {
	FIRST_CAP = 64,
	LARGE_CAP = 4096, /* from here on, it grows by half: what is empty is in memory, too */
};

static void slot_put(struct u64map *m, uint64_t key, uint32_t value)
{
	size_t i = u64map_home_(m, key);

	while (m->slots[i].key && m->slots[i].key != key)
		i = u64map_after_(m, i);
	m->n += m->slots[i].key == 0;
	m->slots[i] = (struct u64map_slot){key, value};
}

/* At most two thirds full, so that there is a free slot soon after any. */
static bool has_room(size_t cap, size_t n)
{
	return n * 3 <= cap * 2;
}

bool u64map_reserve(struct u64map *m, size_t n)
{
	struct u64map old = *m;

	while (!has_room(m->cap, n))
		m->cap = !m->cap ? FIRST_CAP : m->cap < LARGE_CAP ? m->cap * 2 : m->cap + m->cap / 2;
	if (m->cap == old.cap)
		return true;
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
		hole = u64map_after_(m, hole);
	}
	m->n--;
	for (i = u64map_after_(m, hole); m->slots[i].key; i = u64map_after_(m, i)) {
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
