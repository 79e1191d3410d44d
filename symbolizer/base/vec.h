#ifndef JS_BASE_VEC_H
#define JS_BASE_VEC_H

#include <stdint.h>
#include <stdlib.h>

/*
 * A typed growing array: `VEC(struct x) xs = {0};`. vec_push() copies the value and yields false
 * when out of memory. Elements move when it grows: keep indices, not pointers.
 */
#define VEC(type)                                                                                                      \
	struct {                                                                                                       \
		type *v;                                                                                               \
		size_t n, cap;                                                                                         \
	}

#define vec_push(vec, value)                                                                                           \
	__extension__({                                                                                                \
		bool ok_ = vec_grow_((void **)&(vec)->v, &(vec)->cap, (vec)->n, sizeof(*(vec)->v));                    \
		if (ok_)                                                                                               \
			(vec)->v[(vec)->n++] = (value);                                                                \
		ok_;                                                                                                   \
	})

/* Appends copies of `value` until there are `count` elements. false: out of memory. */
#define vec_reach(vec, count, value)                                                                                   \
	__extension__({                                                                                                \
		bool reached_ = true;                                                                                  \
		while (reached_ && (vec)->n < (count))                                                                 \
			reached_ = vec_push(vec, value);                                                               \
		reached_;                                                                                              \
	})

#define vec_done(vec) (free((vec)->v), (vec)->v = NULL, (vec)->n = (vec)->cap = 0)

#include <stdbool.h>

static inline bool vec_grow_(void **v, size_t *cap, size_t n, size_t size)
{
	size_t want = *cap ? *cap * 2 : 16;
	void *p;

	if (n < *cap)
		return true;
	if (want > SIZE_MAX / size || !(p = realloc(*v, want * size)))
		return false;
	*v = p;
	*cap = want;
	return true;
}

#endif
