#include "symbolizer/base/strtab.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "symbolizer/base/arena.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/base/vec.h"

/* Open addressing; the table is at most 3/4 full. id 0 (the empty string) is never in it: free. */
struct slot {
	uint32_t hash, id;
};

struct strtab {
	struct arena texts;
	VEC(const char *) by_id;
	struct slot *slots;
	size_t mask; /* slots - 1, a power of two */
	uint64_t seed; /* names come from the target, which may choose them to collide */
};

enum { FIRST_SLOTS = 256 };

struct strtab *strtab_new(void)
{
	struct strtab *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->slots = calloc(FIRST_SLOTS, sizeof(*t->slots));
	t->mask = FIRST_SLOTS - 1;
	if (!t->slots || !vec_push(&t->by_id, "")) {
		strtab_free(t);
		return NULL;
	}
	if (getrandom(&t->seed, sizeof(t->seed), GRND_NONBLOCK) < 0)
		t->seed = (uintptr_t)t;
	return t;
}

void strtab_free(struct strtab *t)
{
	if (!t)
		return;
	arena_done(&t->texts);
	vec_done(&t->by_id);
	free(t->slots);
	free(t);
}

static bool slots_grow(struct strtab *t)
{
	size_t mask = t->mask * 2 + 1, k;
	struct slot *slots = calloc(mask + 1, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i <= t->mask; i++) {
		if (t->slots[i].id == 0)
			continue;
		for (k = t->slots[i].hash & mask; slots[k].id != 0; k = (k + 1) & mask)
			;
		slots[k] = t->slots[i];
	}
	free(t->slots);
	t->slots = slots;
	t->mask = mask;
	return true;
}

static uint32_t text_add(struct strtab *t, const char *s, size_t len)
{
	char *copy;

	if (t->by_id.n >= UINT32_MAX)
		return UINT32_MAX;
	copy = arena_strndup(&t->texts, s, len);
	if (!copy || !vec_push(&t->by_id, copy))
		return UINT32_MAX;
	return (uint32_t)(t->by_id.n - 1);
}

static bool text_equal(const char *text, const char *s, size_t len)
{
	return strncmp(text, s, len) == 0 && text[len] == '\0';
}

uint32_t strtab_add(struct strtab *t, const char *s, size_t len)
{
	uint32_t hash, id;
	size_t k;

	len = len ? strnlen(s, len) : 0;
	if (len == 0)
		return 0;
	hash = (uint32_t)hash_bytes_seeded(t->seed, s, len);
	for (k = hash & t->mask; t->slots[k].id != 0; k = (k + 1) & t->mask) {
		id = t->slots[k].id;
		if (t->slots[k].hash == hash && text_equal(t->by_id.v[id], s, len))
			return id;
	}
	if (t->by_id.n > t->mask / 4 * 3) {
		if (!slots_grow(t))
			return UINT32_MAX;
		for (k = hash & t->mask; t->slots[k].id != 0; k = (k + 1) & t->mask)
			;
	}
	id = text_add(t, s, len);
	if (id != UINT32_MAX)
		t->slots[k] = (struct slot){hash, id};
	return id;
}

uint32_t strtab_add_z(struct strtab *t, const char *s)
{
	return strtab_add(t, s, strlen(s));
}

const char *strtab_get(const struct strtab *t, uint32_t id)
{
	return id < t->by_id.n ? t->by_id.v[id] : "";
}

uint32_t strtab_count(const struct strtab *t)
{
	return (uint32_t)t->by_id.n;
}

size_t strtab_bytes(const struct strtab *t)
{
	return sizeof(*t) + t->texts.bytes + t->by_id.cap * sizeof(*t->by_id.v) +
	       (t->mask + 1) * sizeof(*t->slots);
}
