#ifndef JS_BASE_U64MAP_H
#define JS_BASE_U64MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/base/hash.h"
#include "symbolizer/base/probing.h"

/*
 * Map of 64-bit keys (never 0) to 32-bit values (0: not there), open addressing, hashed with the secret of hash.h.
 * Zero-initialise.
 */
struct u64map {
	struct u64map_slot {
		uint64_t key;
		uint32_t value;
	} __attribute__((packed, aligned(4))) * slots; /* otherwise, a quarter would be padding */
	size_t cap, n;
	uint64_t seed; /* a copy of hash_secret() */
};

bool u64map_put(struct u64map *m, uint64_t key, uint32_t value); /* false: out of memory */
/*
 * Makes room for n keys in all. false: out of memory. Whoever adds what another map has, in the order of its slots, needs
 * it: a map that is still small would have all these keys in the same place.
 */
bool u64map_reserve(struct u64map *m, size_t n);
void u64map_remove(struct u64map *m, uint64_t key);
void u64map_clear(struct u64map *m); /* keeps the memory */
void u64map_done(struct u64map *m);

/* Where a key belongs. */
static inline size_t u64map_home_(const struct u64map *m, uint64_t key)
{
	return probing_home(hash_u64(key ^ m->seed), m->cap);
}

/* 0: not there. */
static inline uint32_t u64map_get(const struct u64map *m, uint64_t key)
{
	if (m->cap == 0)
		return 0;
	for (size_t i = u64map_home_(m, key);; i = probing_after(i, m->cap)) {
		const struct u64map_slot *s = &m->slots[i];

		if (s->key == key)
			return s->value;
		if (s->key == 0)
			return 0;
	}
}

#endif
