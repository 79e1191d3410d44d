/* Sorting by an address: digit by digit, from the least significant one (radix sort). */
#include "symbolizer/base/address_sort.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/sorted.h"

/* Eleven bits: the counts of all digits stay in the first-level cache. */
enum {
	DIGIT_BITS = 11,
	DIGIT_VALUES = 1 << DIGIT_BITS,
	DIGITS = (64 + DIGIT_BITS - 1) / DIGIT_BITS,
	ELEMENT_MAX = 256
};

struct place {
	uint64_t key;
	uint32_t index;
};

_Static_assert(2 * sizeof(struct place) == ADDRESS_SORT_BYTES, "two arrays of places");

static uint64_t key_at(const void *element)
{
	uint64_t key;

	memcpy(&key, element, sizeof(key));
	return key;
}

static int compare_keys(const void *a, const void *b)
{
	uint64_t x = key_at(a), y = key_at(b);

	return ascending(x, y);
}

static bool is_sorted(const uint8_t *v, size_t n, size_t size)
{
	for (size_t i = 1; i < n; i++)
		if (key_at(v + i * size) < key_at(v + (i - 1) * size))
			return false;
	return true;
}

static unsigned digit_of(uint64_t key, unsigned digit)
{
	return (unsigned)(key >> digit * DIGIT_BITS) & (DIGIT_VALUES - 1);
}

/* One digit. false: all elements have the same, so nothing was moved. */
static bool sort_digit(const struct place *from, struct place *to, size_t n, unsigned digit)
{
	uint32_t next[DIGIT_VALUES] = {0}, sum = 0;

	for (size_t i = 0; i < n; i++)
		next[digit_of(from[i].key, digit)]++;
	if (next[digit_of(from[0].key, digit)] == n)
		return false;
	for (size_t i = 0; i < DIGIT_VALUES; i++) {
		uint32_t count = next[i];

		next[i] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[next[digit_of(from[i].key, digit)]++] = from[i];
	return true;
}

/* Sorts `a`, with `b` as room for as many. Returns the one that has the result. */
static struct place *sort_places(struct place *a, struct place *b, size_t n)
{
	for (unsigned digit = 0; digit < DIGITS; digit++) {
		if (sort_digit(a, b, n, digit)) {
			struct place *from = a;

			a = b;
			b = from;
		}
	}
	return a;
}

/* Moves each element to its place, one cycle after another. Uses up `order`. */
static void move_elements(uint8_t *v, size_t n, size_t size, struct place *order)
{
	uint8_t first[ELEMENT_MAX];

	for (size_t start = 0; start < n; start++) {
		size_t to = start, from = order[start].index;

		if (from == start)
			continue;
		memcpy(first, v + start * size, size);
		while (from != start) {
			memcpy(v + to * size, v + from * size, size);
			order[to].index = (uint32_t)to;
			to = from;
			from = order[to].index;
		}
		memcpy(v + to * size, first, size);
		order[to].index = (uint32_t)to;
	}
}

void address_sort(void *v, size_t n, size_t size)
{
	struct place *places;

	if (n < 2 || is_sorted(v, n, size))
		return;
	places = n <= UINT32_MAX && size <= ELEMENT_MAX ? malloc(2 * n * sizeof(*places)) : NULL;
	if (!places) {
		qsort(v, n, size, compare_keys);
		return;
	}
	for (size_t i = 0; i < n; i++)
		places[i] = (struct place){key_at((uint8_t *)v + i * size), (uint32_t)i};
	move_elements(v, n, size, sort_places(places, places + n, n));
	free(places);
}
