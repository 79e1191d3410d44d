#include "symbolizer/base/slots.h"

#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/hash.h"

enum {
	FIRST_CAP = 64,
	LARGE_CAP = 4096, /* from here on, it grows by half: what is empty is in memory, too */
};

/* Where a slot belongs, by the upper half of its hash, and the one after it. */
static uint32_t home(uint32_t tag, uint32_t cap)
{
	return (uint32_t)((uint64_t)tag * cap >> 32);
}

static uint32_t after(uint32_t i, uint32_t cap)
{
	return i + 1 < cap ? i + 1 : 0;
}

uint32_t slots_find(const struct slots *s, uint64_t hash, slots_equal_fn *equal, const void *ctx, const void *wanted)
{
	uint32_t tag = hash >> 32;

	if (!s->cap)
		return SLOTS_NONE;
	for (uint32_t i = home(tag, s->cap);; i = after(i, s->cap)) {
		uint64_t slot = s->v[i];
		uint32_t position = (uint32_t)slot - 1;

		if (!slot)
			return SLOTS_NONE;
		if (slot >> 32 == tag && equal(ctx, wanted, position))
			return position;
	}
}

static void put(uint64_t *v, uint32_t cap, uint64_t slot)
{
	uint32_t i = home(slot >> 32, cap);

	while (v[i])
		i = after(i, cap);
	v[i] = slot;
}

/* At most two thirds full, so that probe sequences are short and a free slot always ends them. */
static uint32_t limit(uint32_t cap)
{
	return cap / 3 * 2;
}

/* The size with room for n; 0: there is none. */
static uint32_t cap_for(const struct slots *s, uint64_t n)
{
	uint32_t cap = s->cap ? s->cap : FIRST_CAP;

	while (cap && limit(cap) < n) {
		uint32_t more = cap < LARGE_CAP ? cap : cap / 2;

		cap = more <= UINT32_MAX - cap ? cap + more : 0;
	}
	return cap;
}

bool slots_reserve(struct slots *s, uint32_t n)
{
	uint32_t cap = cap_for(s, n);
	uint64_t *v;

	if (cap == s->cap)
		return true;
	if (!cap || !(v = calloc(cap, sizeof(*v))))
		return false;
	for (uint32_t i = 0; i < s->cap; i++)
		if (s->v[i])
			put(v, cap, s->v[i]);
	free(s->v);
	s->v = v;
	s->cap = cap;
	return true;
}

bool slots_add(struct slots *s, uint64_t hash, uint32_t position)
{
	if (position == SLOTS_NONE || (s->n >= limit(s->cap) && !slots_reserve(s, s->n + 1)))
		return false;
	put(s->v, s->cap, hash >> 32 << 32 | (position + 1));
	s->n++;
	return true;
}

size_t slots_growth(const struct slots *s, uint32_t n)
{
	uint32_t cap = cap_for(s, (uint64_t)s->n + n);

	return cap ? (size_t)(cap - s->cap) * sizeof(*s->v) : SIZE_MAX / 2;
}

size_t slots_bytes(const struct slots *s)
{
	return s->cap * sizeof(*s->v);
}

void slots_done(struct slots *s)
{
	free(s->v);
	*s = (struct slots){0};
}

/* Combines both halves of the product, so that every input bit affects every output bit. */
static uint64_t multiply_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t slots_hash(uint64_t seed, const void *p, size_t n_words)
{
	const unsigned char *bytes = p;
	uint64_t h = seed ^ 0x9e3779b97f4a7c15ull, w[2];
	size_t i;

	for (i = 0; i + 2 <= n_words; i += 2) {
		memcpy(w, bytes + i * 8, 16);
		h = multiply_fold(w[0] ^ seed, w[1] ^ h);
	}
	if (i < n_words) {
		memcpy(w, bytes + i * 8, 8);
		h = multiply_fold(w[0] ^ seed, h);
	}
	return hash_mix(h, n_words);
}
