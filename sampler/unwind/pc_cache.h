#ifndef JS_UNWIND_PC_CACHE_H
#define JS_UNWIND_PC_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/unwind/flow.h"

/*
 * Remembers what was found out about pcs in generated code, by (pc, code ID) of one of several JVMs. Direct-mapped: a
 * collision costs time, but never gives a wrong answer.
 */
enum row_class {
	ROW_COMPLETE, /* the frame is complete: leave by the rule for its kind */
	ROW_SHIFTED, /* complete, but the stack pointer may be off by an unknown number of words */
	ROW_FLOW, /* leave by the flow row */
	ROW_ITABLE, /* in an itable stub */
	ROW_RETURN_ON_TOP, /* nothing pushed yet, or all popped: return address at [sp] */
};

struct pc_entry {
	uint64_t pc;
	uint32_t code_id, jvm;
	uint8_t cls; /* enum row_class */
	struct flow_row row;
};

struct pc_cache;

struct pc_cache *pc_cache_new(void); /* NULL: out of memory */
void pc_cache_free(struct pc_cache *c);

uint32_t pc_cache_join(struct pc_cache *c); /* a number for one JVM, whose code ids are its own */
void pc_cache_use(struct pc_cache *c, uint32_t jvm); /* the functions below are about this one from now on */

/* The entry of this pc. If !*hit, the caller fills in cls and row. */
struct pc_entry *pc_cache_get(struct pc_cache *c, uint64_t pc, uint32_t code_id, bool *hit);

/* Like pc_cache_get(), but NULL if it is not there yet. */
const struct pc_entry *pc_cache_find(const struct pc_cache *c, uint64_t pc, uint32_t code_id);

/* Does the code with this ID move sp in its body? 0: unknown, 1: no, 2: yes. */
uint8_t *pc_cache_moves_sp(struct pc_cache *c, uint32_t code_id);

/* Verdicts on return addresses (validate.c), by (pc, owner). 0: unknown. */
uint8_t *pc_cache_verdict(struct pc_cache *c, uint64_t pc, uint32_t owner);

#endif
