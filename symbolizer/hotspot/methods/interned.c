#include "symbolizer/hotspot/methods/interned.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/budget.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/strtab.h"
#include "symbolizer/hotspot/reader/jvm.h"

enum { MEMORY_MAX = 256 << 20 };

size_t copies_bytes(const struct copies *c)
{
	return c->jvm->arena.bytes + c->bytes + strtab_bytes(c->names);
}

bool copies_full(struct copies *c)
{
	uint64_t bytes = copies_bytes(c);
	bool full = bytes > MEMORY_MAX || !budget_hold(c->budget, &c->taken, bytes);

	if (full && !c->said_full)
		log_warn("copies of the JVM's code and methods have reached their limit (%" PRIu64
			 " MB): code and methods "
			 "that are first seen from now on have no names",
			 bytes >> 20);
	c->said_full |= full;
	return full;
}

static size_t aligned(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

/* Copies an entry and its parts into one block. NULL: out of memory. */
static void *copy_new(struct copies *c, const void *entry, size_t size, const struct copy_part *parts, size_t n,
		      size_t *ret_bytes)
{
	size_t all = aligned(size), at = all;
	uint8_t *block;

	for (size_t i = 0; i < n; i++)
		all += aligned(parts[i].size);
	block = malloc(all);
	if (!block)
		return NULL;
	memcpy(block, entry, size);
	for (size_t i = 0; i < n; i++) {
		const void *from, *to = parts[i].size ? block + at : NULL;

		memcpy(&from, block + parts[i].pointer, sizeof(from));
		if (to)
			memcpy(block + at, from, parts[i].size);
		memcpy(block + parts[i].pointer, &to, sizeof(to));
		at += aligned(parts[i].size);
	}
	c->bytes += all;
	*ret_bytes = all;
	return block;
}

static void copy_drop(struct copies *c, void *entry, size_t bytes)
{
	c->bytes -= bytes;
	free(entry);
}

void interned_done(struct interned *t)
{
	for (size_t i = 0; i < t->entries.n; i++)
		free(t->entries.v[i]);
	vec_done(&t->entries);
	vec_done(&t->stamps);
	vec_done(&t->used);
	u64map_done(&t->ids);
}

uint32_t interned_add(struct interned *t, const struct entry *e, size_t size, const struct copy_part *parts, size_t n,
		      uint32_t stamp)
{
	struct entry *kept;
	size_t bytes;

	if (t->entries.n + 1 >= STAMP_PERMANENT || !vec_push(&t->stamps, stamp))
		return 0;
	kept = copy_new(t->copies, e, size, parts, n, &bytes);
	if (!kept || !vec_push(&t->entries, kept)) {
		if (kept)
			copy_drop(t->copies, kept, bytes);
		t->stamps.n--;
		return 0;
	}
	kept->bytes = bytes;
	t->added++;
	return (uint32_t)t->entries.n;
}

void interned_use(struct interned *t, uint32_t id)
{
	const struct moment *m = &t->copies->jvm->moment;
	uint32_t *stamp = &t->stamps.v[id - 1];

	if (*stamp == STAMP_PERMANENT || *stamp == m->walk || moment_checked(m, t->entries.v[id - 1]->checked_ns))
		return;
	if (m->walking && vec_push(&t->used, id))
		*stamp = m->walk;
}

bool interned_keep(struct interned *t, uint32_t id, uint8_t why)
{
	struct entry *e = interned_get(t, id);

	if (!e || e->keep)
		return false;
	e->keep = why;
	return true;
}

static void forget(struct interned *t, uint32_t id)
{
	struct entry *e = t->entries.v[id - 1];

	if (e->key && u64map_get(&t->ids, e->key) == id)
		u64map_remove(&t->ids, e->key);
	copy_drop(t->copies, e, e->bytes);
	t->entries.v[id - 1] = NULL;
	t->forgotten++;
}

uint64_t interned_forget(struct interned *t)
{
	/* Forgotten entries keep their places in the tables. */
	uint64_t kept = t->entries.n * (sizeof(void *) + sizeof(uint32_t));

	for (uint32_t id = 1; id <= t->entries.n; id++) {
		const struct entry *e = t->entries.v[id - 1];

		if (e && !e->keep)
			forget(t, id);
		else if (e && e->keep == KEEP_NAMED)
			kept += e->bytes;
	}
	t->used.n = 0;
	return kept;
}

size_t interned_bytes(const struct interned *t)
{
	return t->ids.cap * sizeof(struct u64map_slot) + t->entries.cap * (sizeof(void *) + sizeof(uint32_t));
}
