#ifndef JS_BASE_HASH_H
#define JS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The finaliser of splitmix64: every input bit affects the whole result. */
static inline uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static inline uint64_t hash_mix(uint64_t h, uint64_t x)
{
	return hash_u64(h ^ (x + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2)));
}

uint64_t hash_bytes(const void *p, size_t len);

/*
 * A random number chosen once per process. Tables whose keys come from a target hash with it, so that nobody can
 * prepare colliding keys. Any thread may call it.
 */
uint64_t hash_secret(void);
uint64_t hash_bytes_secret(const void *p, size_t len);

#endif
