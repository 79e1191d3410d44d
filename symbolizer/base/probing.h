#ifndef JS_BASE_PROBING_H
#define JS_BASE_PROBING_H

#include <stddef.h>
#include <stdint.h>

/*
 * What tables with open addressing and linear probing have in common (slots.h, u64map.h). They are at most two thirds full,
 * so that probe sequences are short, and a free slot always ends them.
 */

/* Where a hash belongs: by its upper bits. */
static inline size_t probing_home(uint64_t hash, size_t cap)
{
	return (size_t)((unsigned __int128)hash * cap >> 64);
}

/* The slot after it. */
static inline size_t probing_after(size_t i, size_t cap)
{
	return i + 1 < cap ? i + 1 : 0;
}

/* The size to which a table of that size has to grow for n elements: large ones by half, as what is empty is in memory, too. */
static inline size_t probing_cap(size_t cap, size_t n)
{
	enum { FIRST = 64, LARGE = 4096 };

	while (!cap || n > cap / 3 * 2)
		cap = !cap ? FIRST : cap < LARGE ? cap * 2 : cap + cap / 2;
	return cap;
}

#endif
