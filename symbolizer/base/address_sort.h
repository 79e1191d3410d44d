#ifndef JS_BASE_ADDRESS_SORT_H
#define JS_BASE_ADDRESS_SORT_H

#include <stddef.h>

/* What address_sort() allocates for an element while it runs. */
enum { ADDRESS_SORT_BYTES = 32 };

/*
 * Sorts `n` elements of `size` bytes, each of which begins with a uint64_t, by this number, upwards. For tables of
 * symbols: the time grows with n only, and an array that is sorted already is read once. Equal elements keep their
 * order, unless there is no memory or no 32-bit index for n elements: then they are sorted as qsort(3) does it.
 */
void address_sort(void *v, size_t n, size_t size);

#endif
