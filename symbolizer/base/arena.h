#ifndef JS_BASE_ARENA_H
#define JS_BASE_ARENA_H

#include <stddef.h>

/*
 * Memory that is released as a whole. Allocations are zeroed, and 16-byte aligned, except strings.
 * Zero-initialise; arena_done() releases.
 */
struct arena {
	struct arena_chunk *head;
	size_t bytes; /* memory held */
};

void *arena_alloc(struct arena *a, size_t size); /* NULL: out of memory */
void *arena_copy(struct arena *a, const void *src, size_t size);
char *arena_strndup(struct arena *a, const char *s, size_t len);
void arena_done(struct arena *a);

#endif
