#ifndef JS_BASE_RANDOM_H
#define JS_BASE_RANDOM_H

#include <stdint.h>

/*
 * xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled"), for sampling and
 * jitter, not for secrets. Any seed will do. The upper half of the result is the better one.
 */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state ? *state : 1;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* From 0 to n - 1, with almost equal probability. */
static inline uint32_t random_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((random_next(state) >> 32) * n >> 32);
}

#endif
