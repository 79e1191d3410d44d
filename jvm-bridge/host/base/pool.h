#ifndef JS_BRIDGE_POOL_H
#define JS_BRIDGE_POOL_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Memory of one event: pieces that are freed together. NULL: out of memory. */
struct pool {
	struct pool_chunk *head;
};

struct pool_chunk {
	struct pool_chunk *next;
	size_t used, size;
	_Alignas(16) char data[];
};

static inline void *pool_alloc(struct pool *p, size_t n)
{
	struct pool_chunk *c = p->head;

	if (n > (size_t)1 << 30)
		return NULL;
	n = (n + 15) & ~(size_t)15;
	if (!c || c->size - c->used < n) {
		size_t size = n > 8192 ? n : 8192;

		c = malloc(sizeof(*c) + size);
		if (!c)
			return NULL;
		*c = (struct pool_chunk){p->head, 0, size};
		p->head = c;
	}
	c->used += n;
	return memset(c->data + c->used - n, 0, n);
}

static inline char *pool_string(struct pool *p, const char *s)
{
	size_t n = strlen(s) + 1;
	char *copy = pool_alloc(p, n);

	return copy ? memcpy(copy, s, n) : NULL;
}

static inline void pool_done(struct pool *p)
{
	while (p->head) {
		struct pool_chunk *c = p->head;

		p->head = c->next;
		free(c);
	}
}

#endif
