#ifndef JS_EXAMPLES_BY_POINTER_H
#define JS_EXAMPLES_BY_POINTER_H

#include <stdint.h>
#include <stdlib.h>

/* A table of records by id; a record's first member is a struct node. Not thread-safe; records are never removed. */
enum { HEADS = 4096 };

struct node {
	const void *id;
	struct node *next;
};

struct by_pointer {
	struct node *heads[HEADS];
	size_t n;
};

static inline struct node **by_pointer_head(struct by_pointer *t, const void *id)
{
	return &t->heads[((uintptr_t)id * 0x9e3779b97f4a7c15u >> 32) % HEADS];
}

static inline void *by_pointer_find(struct by_pointer *t, const void *id)
{
	struct node *n = *by_pointer_head(t, id);

	while (n && n->id != id)
		n = n->next;
	return n;
}

/* Zeroed except for its node; NULL: out of memory. */
static inline void *by_pointer_add(struct by_pointer *t, const void *id, size_t size)
{
	struct node *n = calloc(1, size), **head = by_pointer_head(t, id);

	if (!n)
		return NULL;
	*n = (struct node){id, *head};
	*head = n;
	t->n++;
	return n;
}

/* All records; NULL: out of memory, or none. The caller frees the array. */
static inline struct node **by_pointer_list(struct by_pointer *t)
{
	struct node **list = t->n ? calloc(t->n, sizeof(*list)) : NULL;
	size_t k = 0;

	for (size_t i = 0; list && i < HEADS; i++)
		for (struct node *n = t->heads[i]; n; n = n->next)
			list[k++] = n;
	return list;
}

#endif
