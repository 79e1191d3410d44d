#include "symbolizer/base/slots.h"

#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/hash.h"
#include "symbolizer/base/probing.h"

/* By the part of the hash that a slot has. */
static size_t home(uint32_t tag, uint32_t cap)
{
	return probing_home((uint64_t)tag << 32, cap);
}

uint32_t slots_find(const struct slots *s, uint64_t hash, slots_equal_fn *equal, const void *ctx, const void *wanted)
{
	uint32_t tag = hash >> 32;

	if (!s->cap)
		return SLOTS_NONE;
	for (size_t i = home(tag, s->cap);; i = probing_after(i, s->cap)) {
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
	size_t i = home(slot >> 32, cap);

	while (v[i])
		i = probing_after(i, cap);
	v[i] = slot;
}

bool slots_reserve(struct slots *s, uint32_t n)
{
	size_t cap = probing_cap(s->cap, n);
	uint64_t *v;

	if (cap == s->cap)
		return true;
	if (cap > UINT32_MAX || !(v = calloc(cap, sizeof(*v))))
		return false;
	for (uint32_t i = 0; i < s->cap; i++)
		if (s->v[i])
			put(v, (uint32_t)cap, s->v[i]);
	free(s->v);
	s->v = v;
	s->cap = (uint32_t)cap;
	return true;
}

bool slots_add(struct slots *s, uint64_t hash, uint32_t position)
{
	if (position == SLOTS_NONE || !slots_reserve(s, s->n + 1))
		return false;
	put(s->v, s->cap, hash >> 32 << 32 | (position + 1));
	s->n++;
	return true;
}

size_t slots_growth(const struct slots *s, uint32_t n)
{
	return (probing_cap(s->cap, (size_t)s->n + n) - s->cap) * sizeof(*s->v);
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
