#ifndef JS_BASE_TRIM_H
#define JS_BASE_TRIM_H

#include <stdlib.h>

#include "symbolizer/base/buf.h"
#include "symbolizer/base/vec.h"

/* Gives back the room beyond what is there, of a VEC or struct buf that has grown to its size and is kept for long. */
#define vec_trim(vec) trim_((void **)&(vec)->v, &(vec)->cap, (vec)->n, sizeof(*(vec)->v))

static inline void trim_(void **v, size_t *cap, size_t n, size_t size)
{
	void *p = n && n < *cap ? realloc(*v, n * size) : NULL;

	if (!p)
		return;
	*v = p;
	*cap = n;
}

static inline void buf_trim(struct buf *b)
{
	char *p = b->len + 1 < b->cap ? realloc(b->data, b->len + 1) : NULL;

	if (!p)
		return;
	b->data = p;
	b->cap = b->len + 1;
}

#endif
