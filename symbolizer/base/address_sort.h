#ifndef JS_BASE_ADDRESS_SORT_H
#define JS_BASE_ADDRESS_SORT_H

#include <stddef.h>

/* What address_sort() allocates for an element while it runs. */
enum { ADDRESS_SORT_BYTES = 32 };

/*
 * Sorts `n` elements of `size` bytes, each of which begins with a uint64_t, by this number, in ascending order. For
 * tables of symbols: it takes linear time, and an array that is already sorted is read only once. Equal elements keep
 * their order, unless memory runs out or n does not fit into 32 bits; then qsort(3) sorts them.
 */
void address_sort(void *v, size_t n, size_t size);

#endif
