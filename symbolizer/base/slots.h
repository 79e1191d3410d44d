#ifndef JS_BASE_SLOTS_H
#define JS_BASE_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/base/vec.h"

/*
 * An open-addressing hash index over elements of an array elsewhere: hash -> position in that array. Nothing is ever
 * removed. A slot has 32 bits of the hash next to the position, so that growing does not access the elements, and a
 * look-up accesses almost only those that are equal. Zero-initialise; slots_done() releases.
 */
struct slots {
	uint64_t *v; /* hash << 32 | position + 1; 0: free */
	uint32_t cap, n;
};

enum { SLOTS_NONE = UINT32_MAX };

typedef bool slots_equal_fn(const void *ctx, const void *wanted, uint32_t position);

/* The position for which equal(ctx, wanted, position) holds; SLOTS_NONE: there is none. */
uint32_t slots_find(const struct slots *s, uint64_t hash, slots_equal_fn *equal, const void *ctx, const void *wanted);

/* Adds a position that is not in the index yet. false: out of memory, nothing changed. */
bool slots_add(struct slots *s, uint64_t hash, uint32_t position);

/* Appends a value to a VEC (vec.h), and adds its position. false: out of memory, nothing changed. */
#define slots_push(slots, hash, vec, value)                                                                            \
	__extension__({                                                                                                \
		bool added_ = vec_push(vec, value);                                                                    \
		if (added_ && !slots_add(slots, hash, (uint32_t)(vec)->n - 1)) {                                       \
			(vec)->n--;                                                                                    \
			added_ = false;                                                                                \
		}                                                                                                      \
		added_;                                                                                                \
	})

/* Makes room for n positions in all. false: out of memory. */
bool slots_reserve(struct slots *s, uint32_t n);
/* The bytes by which adding n positions grows the index. */
size_t slots_growth(const struct slots *s, uint32_t n);
size_t slots_bytes(const struct slots *s);
void slots_done(struct slots *s);

/* Hashes n 64-bit words at p (any alignment). The seed is hash_secret(), or the hash of the words before them. */
uint64_t slots_hash(uint64_t seed, const void *p, size_t n_words);

#endif
