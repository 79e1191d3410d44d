#ifndef JS_PROFILE_STACK_TABLE_H
#define JS_PROFILE_STACK_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/model/frame_key.h"
#include "sampler/profile/profile.h"
#include "symbolizer/base/slots.h"

/*
 * Interned frame keys and interned stacks. Two levels: a stack seen before is found by the hash of its keys, without
 * a lookup for every key; only a new stack interns its keys.
 *
 * A stack is its depth and its frame numbers, leaf first, each as unsigned LEB128. Frames are numbered in order of
 * appearance, so those in most stacks take one or two bytes.
 */
struct stack_chunk;

struct stack_table {
	struct frame_key *keys; /* by frame number */
	uint32_t n_keys, cap_keys;
	struct slots key_slots;
	const uint8_t **stacks; /* in chunks */
	uint32_t n_stacks, cap_stacks;
	struct slots stack_slots;
	struct stack_chunk *chunks; /* newest first */
	size_t chunk_bytes;
	uint64_t seed; /* for all hashes; set once, before anything is added */
};

/* The keys of one stack, leaf first, in two parts so that adding marks does not copy the walk's frames. */
struct stack_keys {
	const struct frame_key *frames;
	uint32_t n;
	struct frame_key marks[2]; /* root side */
	uint32_t n_marks;
};

/* Reads the next number; trusted, because we encoded it. */
static inline uint32_t stack_number(const uint8_t **at)
{
	uint32_t byte = *(*at)++, v = byte & 0x7f;

	for (unsigned shift = 7; byte & 0x80; shift += 7) {
		byte = *(*at)++;
		v |= (byte & 0x7f) << shift;
	}
	return v;
}

static inline struct stack_cursor stack_table_cursor(const struct stack_table *t, uint32_t stack)
{
	struct stack_cursor c = {.at = t->stacks[stack]};

	c.left = stack_number(&c.at);
	return c;
}

uint64_t stack_keys_hash(const struct stack_table *t, const struct stack_keys *k);

/* Stack number, or SLOTS_NONE. */
uint32_t stack_table_find(const struct stack_table *t, const struct stack_keys *k, uint64_t hash);
/* Adds a new stack. SLOTS_NONE: out of memory (keys may have been interned). */
uint32_t stack_table_add(struct stack_table *t, const struct stack_keys *k, uint64_t hash);

/* The most bytes that adding a stack of n keys adds to the table (for n small compared to the table). */
size_t stack_table_cost(const struct stack_table *t, uint32_t n);
size_t stack_table_bytes(const struct stack_table *t);

/* Frees what only adding and finding need. Stacks added afterwards cannot be found. */
void stack_table_close(struct stack_table *t);
void stack_table_done(struct stack_table *t);

#endif
