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
	for (uint32_t id = 0; (id = interned_next(t, id));)
		free(interned_get(t, id));
	for (size_t i = 0; i < t->pages.n; i++)
		free(t->pages.v[i]);
	vec_done(&t->pages);
	vec_done(&t->used);
	u64map_done(&t->ids);
}

/* Where the entry of the next id belongs. NULL: out of memory. */
static struct entry **next_place(struct interned *t)
{
	if (t->n == t->pages.n * INTERNED_PAGE) {
		struct entry **page = calloc(INTERNED_PAGE, sizeof(*page));

		if (!page || !vec_push(&t->pages, page)) {
			free(page);
			return NULL;
		}
	}
	return &t->pages.v[t->n / INTERNED_PAGE][t->n % INTERNED_PAGE];
}

uint32_t interned_add(struct interned *t, const struct entry *e, size_t size, const struct copy_part *parts, size_t n)
{
	struct entry **place = t->n + 1 < STAMP_PERMANENT ? next_place(t) : NULL;
	size_t bytes;

	if (!place)
		return 0;
	*place = copy_new(t->copies, e, size, parts, n, &bytes);
	if (!*place)
		return 0;
	(*place)->bytes = bytes;
	t->added++;
	return ++t->n;
}

bool interned_replace(struct interned *t, uint32_t id, const struct entry *e, size_t size,
		      const struct copy_part *parts, size_t n)
{
	struct entry **place = &t->pages.v[(id - 1) / INTERNED_PAGE][(id - 1) % INTERNED_PAGE], *old = *place;
	size_t bytes;

	*place = copy_new(t->copies, e, size, parts, n, &bytes);
	if (!*place) {
		*place = old;
		return false;
	}
	(*place)->bytes = bytes;
	copy_drop(t->copies, old, old->bytes);
	return true;
}

uint32_t interned_next(const struct interned *t, uint32_t id)
{
	while (id < t->n && !interned_get(t, id + 1))
		id += t->pages.v[id / INTERNED_PAGE] ? 1 : INTERNED_PAGE - id % INTERNED_PAGE;
	return id < t->n ? id + 1 : 0;
}

void interned_use(struct interned *t, uint32_t id)
{
	const struct moment *m = &t->copies->jvm->moment;
	struct entry *e = interned_get(t, id);

	if (e->stamp == STAMP_PERMANENT || e->stamp == m->walk || moment_checked(m, e->checked_ns))
		return;
	if (m->walking && vec_push(&t->used, id))
		e->stamp = m->walk;
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
	struct entry **place = &t->pages.v[(id - 1) / INTERNED_PAGE][(id - 1) % INTERNED_PAGE], *e = *place;

	if (e->key && u64map_get(&t->ids, e->key) == id)
		u64map_remove(&t->ids, e->key);
	copy_drop(t->copies, e, e->bytes);
	*place = NULL;
	t->forgotten++;
}

/* Not the last one, which more may come to. */
static void forget_empty_pages(struct interned *t)
{
	for (size_t i = 0; i + 1 < t->pages.n; i++) {
		struct entry **page = t->pages.v[i];
		size_t n = 0;

		while (page && n < INTERNED_PAGE && !page[n])
			n++;
		if (n < INTERNED_PAGE)
			continue;
		free(page);
		t->pages.v[i] = NULL;
	}
}

static size_t pages_bytes(const struct interned *t)
{
	size_t bytes = 0;

	for (size_t i = 0; i < t->pages.n; i++)
		bytes += t->pages.v[i] ? INTERNED_PAGE * sizeof(struct entry *) : 0;
	return bytes;
}

uint64_t interned_forget(struct interned *t)
{
	uint64_t kept = 0;

	for (uint32_t id = 0; (id = interned_next(t, id));) {
		const struct entry *e = interned_get(t, id);

		if (!e->keep)
			forget(t, id);
		else if (e->keep == KEEP_NAMED)
			kept += e->bytes;
	}
	t->used.n = 0;
	forget_empty_pages(t);
	return kept + t->pages.n * sizeof(*t->pages.v) + pages_bytes(t);
}

size_t interned_bytes(const struct interned *t)
{
	return t->ids.cap * sizeof(struct u64map_slot) + t->pages.cap * sizeof(*t->pages.v) + pages_bytes(t);
}
