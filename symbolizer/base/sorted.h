#ifndef JS_BASE_SORTED_H
#define JS_BASE_SORTED_H

#include <stddef.h>

/*
 * Order of two numbers, for qsort(): negative if `a` comes first, 0 if they are equal. Several keys are compared with
 * ascending(x->a, y->a) ?: descending(x->b, y->b). Both arguments are evaluated twice.
 */
#define ascending(a, b) (((a) > (b)) - ((a) < (b)))
#define descending(a, b) ascending(b, a)

/*
 * Binary search: the first index i < n for which an expression with i holds, as it does for all further ones; n if there
 * is none. `i` is the name that the expression uses.
 */
#define first_where(n, i, holds)                                                                                       \
	__extension__({                                                                                                \
		size_t lo_ = 0, hi_ = (n);                                                                             \
		while (lo_ < hi_) {                                                                                    \
			size_t i = lo_ + (hi_ - lo_) / 2;                                                              \
			if (holds)                                                                                     \
				hi_ = i;                                                                               \
			else                                                                                           \
				lo_ = i + 1;                                                                           \
		}                                                                                                      \
		lo_;                                                                                                   \
	})

/*
 * Searches a sorted array. first_above() is the index of the first of `n` elements whose `field` is greater than `key`,
 * or n. With the start of ranges as the field, the element before it is the last that starts at or before the key; with
 * the end of disjoint ranges, it is the only one that can contain the key.
 */
#define first_above(v, n, field, key) first_where(n, mid_, (v)[mid_].field > (key))

/*
 * For ranges that may overlap, sorted by start: sets `reach` of each to the highest end of all ranges up to it, so that
 * a search for the ranges that cover an address can stop early.
 */
#define set_reach(v, n)                                                                                                \
	do {                                                                                                           \
		for (size_t i_ = 0; i_ < (n); i_++)                                                                    \
			(v)[i_].reach = i_ && (v)[i_ - 1].reach > (v)[i_].end ? (v)[i_ - 1].reach : (v)[i_].end;       \
	} while (0)

#endif
