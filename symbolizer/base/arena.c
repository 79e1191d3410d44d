#include "symbolizer/base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16, FIRST_CHUNK = 4096, LAST_CHUNK = 1 << 20 };

struct arena_chunk {
	struct arena_chunk *next;
	size_t size, used; /* of data */
	alignas(ALIGN) char data[];
};

static struct arena_chunk *chunk_new(struct arena *a, size_t size)
{
	/* Zeroed by calloc(), and chunks are never reused, so allocations need no clearing. */
	struct arena_chunk *c = calloc(1, sizeof(*c) + size);

	if (!c)
		return NULL;
	c->size = size;
	a->bytes += sizeof(*c) + size;
	return c;
}

static void *chunk_take(struct arena_chunk *c, size_t at, size_t size)
{
	c->used = at + size;
	return c->data + at;
}

/*
 * From 4 KiB to 1 MiB, and a quarter of what there is in between: little is unused in a small arena or a large one,
 * which calls malloc() rarely.
 */
static size_t chunk_size(const struct arena *a)
{
	size_t size = a->bytes / 4 < FIRST_CHUNK ? FIRST_CHUNK : a->bytes / 4;

	return size < LAST_CHUNK ? size : LAST_CHUNK;
}

/* align: a power of two, at most ALIGN. */
static void *take(struct arena *a, size_t size, size_t align)
{
	struct arena_chunk *c = a->head;
	size_t usual = chunk_size(a), at = c ? (c->used + align - 1) & ~(align - 1) : 0;

	if (size > SIZE_MAX / 2)
		return NULL;
	size += size == 0;
	if (c && at <= c->size && size <= c->size - at)
		return chunk_take(c, at, size);
	c = chunk_new(a, size > usual / 4 ? size : usual);
	if (!c)
		return NULL;
	if (a->head && size > usual / 4) {
		/*
		 * A large allocation gets a chunk of its own after the head, so that the rest of the head stays usable.
		 */
		c->next = a->head->next;
		a->head->next = c;
	} else {
		c->next = a->head;
		a->head = c;
	}
	return chunk_take(c, 0, size);
}

void *arena_alloc(struct arena *a, size_t size)
{
	return take(a, size, ALIGN);
}

void *arena_copy(struct arena *a, const void *src, size_t size)
{
	void *p = arena_alloc(a, size);

	if (p && size > 0)
		memcpy(p, src, size);
	return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
	char *p;

	len = strnlen(s, len);
	p = take(a, len + 1, 1);
	if (p)
		memcpy(p, s, len);
	return p;
}

void arena_done(struct arena *a)
{
	struct arena_chunk *next;

	for (struct arena_chunk *c = a->head; c; c = next) {
		next = c->next;
		free(c);
	}
	*a = (struct arena){0};
}
