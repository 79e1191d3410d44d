#include "sampler/profile/stack_table.h"

#include <stdlib.h>
#include <string.h>

/* Chunks of 16 KiB to 1 MiB: stacks never move, and growing copies none. */
enum { CHUNK_FIRST = 16 << 10, CHUNK_MAX = 1 << 20, ARRAY_FIRST = 512 };

struct stack_chunk {
	struct stack_chunk *next;
	size_t used, cap;
	uint8_t bytes[];
};

static const struct frame_key *key_at(const struct stack_keys *k, uint32_t i)
{
	return i < k->n ? &k->frames[i] : &k->marks[i - k->n];
}

static uint32_t keys_count(const struct stack_keys *k)
{
	return k->n + k->n_marks;
}

uint64_t stack_keys_hash(const struct stack_table *t, const struct stack_keys *k)
{
	uint64_t h = slots_hash(t->seed, k->frames, (size_t)k->n * 2);

	return k->n_marks ? slots_hash(h, k->marks, (size_t)k->n_marks * 2) : h;
}

static bool key_equal(const struct frame_key *a, const struct frame_key *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static bool stack_is(const void *ctx, const void *wanted, uint32_t position)
{
	const struct stack_table *t = ctx;
	const struct stack_keys *k = wanted;
	struct stack_cursor c = stack_table_cursor(t, position);

	if (c.left != keys_count(k))
		return false;
	for (uint32_t i = 0; i < k->n; i++)
		if (!key_equal(&t->keys[stack_number(&c.at)], &k->frames[i]))
			return false;
	for (uint32_t i = 0; i < k->n_marks; i++)
		if (!key_equal(&t->keys[stack_number(&c.at)], &k->marks[i]))
			return false;
	return true;
}

uint32_t stack_table_find(const struct stack_table *t, const struct stack_keys *k, uint64_t hash)
{
	return slots_find(&t->stack_slots, hash, stack_is, t, k);
}

/* Arrays grow by half: memory matters more here than copying. */
static uint32_t grown(uint32_t cap)
{
	return cap < ARRAY_FIRST ? ARRAY_FIRST : cap + cap / 2;
}

static bool room(void **v, uint32_t n, uint32_t *cap, size_t size)
{
	uint32_t want = grown(*cap);
	void *p;

	if (n < *cap)
		return true;
	if (want < *cap || !(p = realloc(*v, want * size)))
		return false;
	*v = p;
	*cap = want;
	return true;
}

static bool key_is(const void *ctx, const void *wanted, uint32_t position)
{
	const struct stack_table *t = ctx;

	return key_equal(&t->keys[position], wanted);
}

static uint32_t key_intern(struct stack_table *t, const struct frame_key *key)
{
	uint64_t hash = slots_hash(t->seed, key, 2);
	uint32_t i = slots_find(&t->key_slots, hash, key_is, t, key);

	if (i != SLOTS_NONE)
		return i;
	if (!room((void **)&t->keys, t->n_keys, &t->cap_keys, sizeof(*t->keys)) ||
	    !slots_add(&t->key_slots, hash, t->n_keys))
		return SLOTS_NONE;
	t->keys[t->n_keys] = *key;
	return t->n_keys++;
}

static uint32_t number_size(uint32_t v)
{
	uint32_t n = 1;

	while (v >>= 7)
		n++;
	return n;
}

static uint8_t *number_put(uint8_t *to, uint32_t v)
{
	for (; v >= 0x80; v >>= 7)
		*to++ = (uint8_t)(v | 0x80);
	*to++ = (uint8_t)v;
	return to;
}

/* The most bytes that a stack of n frames takes, if all of its frames are new or among the latest. */
static size_t stack_size(const struct stack_table *t, uint32_t n)
{
	return number_size(n) + (size_t)n * number_size(t->n_keys + n);
}

/* Size of the next chunk if `size` bytes need one; 0: they fit into the current one. */
static size_t next_chunk(const struct stack_table *t, size_t size)
{
	const struct stack_chunk *c = t->chunks;
	size_t cap = c ? c->cap * 2 : CHUNK_FIRST;

	if (c && c->cap - c->used >= size)
		return 0;
	if (cap > CHUNK_MAX)
		cap = CHUNK_MAX;
	return size > cap ? size : cap;
}

/* Contiguous room for this many bytes; used once the caller adds to ->used. */
static uint8_t *chunk_room(struct stack_table *t, size_t size)
{
	size_t cap = next_chunk(t, size), bytes = sizeof(struct stack_chunk) + cap;
	struct stack_chunk *c = t->chunks;

	if (!cap)
		return c->bytes + c->used;
	if (!(c = malloc(bytes)))
		return NULL;
	*c = (struct stack_chunk){.next = t->chunks, .cap = cap};
	t->chunks = c;
	t->chunk_bytes += bytes;
	return c->bytes;
}

uint32_t stack_table_add(struct stack_table *t, const struct stack_keys *k, uint64_t hash)
{
	uint32_t n = keys_count(k);
	uint8_t *stack = chunk_room(t, stack_size(t, n)), *end;

	if (!stack || !room((void **)&t->stacks, t->n_stacks, &t->cap_stacks, sizeof(*t->stacks)))
		return SLOTS_NONE;
	end = number_put(stack, n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t number = key_intern(t, key_at(k, i));

		if (number == SLOTS_NONE)
			return SLOTS_NONE;
		end = number_put(end, number);
	}
	if (!slots_add(&t->stack_slots, hash, t->n_stacks))
		return SLOTS_NONE;
	t->chunks->used += (size_t)(end - stack);
	t->stacks[t->n_stacks] = stack;
	return t->n_stacks++;
}

size_t stack_table_cost(const struct stack_table *t, uint32_t n)
{
	size_t chunk = next_chunk(t, stack_size(t, n));
	size_t cost = chunk ? sizeof(struct stack_chunk) + chunk : 0;

	if (t->n_stacks == t->cap_stacks)
		cost += (grown(t->cap_stacks) - t->cap_stacks) * sizeof(*t->stacks);
	if (n > t->cap_keys - t->n_keys)
		cost += (grown(t->cap_keys) - t->cap_keys) * sizeof(*t->keys);
	return cost + slots_growth(&t->key_slots, n) + slots_growth(&t->stack_slots, 1);
}

size_t stack_table_bytes(const struct stack_table *t)
{
	return t->cap_keys * sizeof(*t->keys) + slots_bytes(&t->key_slots) + t->cap_stacks * sizeof(*t->stacks) +
	       slots_bytes(&t->stack_slots) + t->chunk_bytes;
}

void stack_table_close(struct stack_table *t)
{
	slots_done(&t->key_slots);
	slots_done(&t->stack_slots);
}

void stack_table_done(struct stack_table *t)
{
	struct stack_chunk *next;

	for (struct stack_chunk *c = t->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	free(t->keys);
	free(t->stacks);
	slots_done(&t->key_slots);
	slots_done(&t->stack_slots);
	*t = (struct stack_table){0};
}
