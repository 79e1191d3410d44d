#ifndef JS_UNWIND_FLOW_H
#define JS_UNWIND_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/target/regs.h"

struct mem;

/*
 * Makes unwinding rows for generated code, which has none: follows the instructions from a pc to where the code
 * leaves its frame (by a return, or a jump out), and expresses the stack pointer, the frame pointer and the return
 * address there in terms of the registers at the pc. This is exact for prologues, epilogues, adapters, stubs with any
 * frame and the interpreter's entry and exit, whatever they look like in a given JDK.
 *
 * The result depends only on the bytes of the code, so it is cached by pc.
 */

/* A value in terms of the registers at the starting pc. */
enum flow_kind {
	FLOW_UNKNOWN,
	FLOW_REG, /* register `base` + off */
	FLOW_MEM, /* the word at (register `base` + off), + add */
	FLOW_DEEP, /* the word at (the word at (register `base` + off) + add), + more */
	FLOW_DEEPER, /* the word at what FLOW_DEEP says */
};

struct flow_val {
	uint8_t kind;
	uint8_t base; /* DWARF number; FLOW_ALIGNED and above: an aligned stack pointer, whose value is unknown */
	int32_t off, add, more;
};

enum { FLOW_ALIGNED = REGS_MAX };

enum flow_end {
	FLOW_NONE, /* no way out was found */
	FLOW_RETURN, /* a return instruction */
	FLOW_JUMP_REG, /* a jump through register, whose value is `target` */
	FLOW_TAIL_MEM, /* a jump through memory */
	FLOW_TAIL, /* a direct jump out of the code, to target_pc */
	FLOW_LIMIT, /* a limit in the options was reached, or the next frame that deoptimisation rebuilds */
	FLOW_BUILT, /* an interpreter frame was built: its slots are in `slot` */
};

/* Registers that a caller may need; the frame pointer comes first. */
enum { SAVED_FP, SAVED_REGS = 6 };
extern const uint8_t flow_saved_regs[SAVED_REGS]; /* their DWARF numbers */

enum flow_slot { SLOT_SENDER_SP, SLOT_METHOD, FLOW_SLOTS };

struct flow_row {
	uint8_t end; /* enum flow_end */
	bool called; /* there is a call on the way */
	struct flow_val ra; /* the word on top of the stack */
	struct flow_val sp; /* above that word; FLOW_JUMP_REG: at it */
	struct flow_val thrown_at; /* where exception handlers find the return address when they are jumped to */
	struct flow_val sender_sp; /* on entry to interpreter and adapters */
	struct flow_val target; /* FLOW_JUMP_REG */
	uint64_t target_pc; /* FLOW_TAIL */
	struct flow_val saved[SAVED_REGS];
	struct flow_val slot[FLOW_SLOTS]; /* FLOW_BUILT */
};

/* Reads code at `pc`. Returns how many of `len` bytes could be read. */
typedef uint32_t flow_fetch_fn(void *ctx, uint64_t pc, uint8_t *dst, uint32_t len);

/* Has the code left its frame when it jumps to `target`, which is outside the code? */
typedef bool flow_leaves_fn(void *ctx, uint64_t target);

/* Is the frame complete, with nothing else pushed, at a call that returns to `pc`? */
typedef bool flow_whole_fn(void *ctx, uint64_t pc);

/* The row of `pc` that flow_follow() found with the same options; NULL: it has not been asked for. */
typedef const struct flow_row *flow_known_fn(void *known, uint64_t pc);

struct flow_options {
	flow_fetch_fn *fetch;
	flow_leaves_fn *leaves; /* NULL: always */
	flow_whole_fn *whole; /* stop at such a call, with a frame of limit_words; NULL: at none */
	void *ctx;
	flow_known_fn
		*row_of; /* a way that reaches a pc whose row is known is not followed further; NULL: no row is known */
	void *known; /* row_of's first argument */
	uint64_t lo, hi; /* the code: a jump outside is a way out */
	uint64_t limit_pc; /* stop here, where a frame of limit_words is complete; 0: no limit */
	bool limit_call; /* stop at a call, or where the stack is aligned for one: such a frame is complete there too */
	int32_t limit_words;
	uint16_t budget; /* instructions */
	bool straight; /* do not follow conditional branches, and end at a call */
	bool no_calls; /* end at a call */
	bool rebuilds; /* deoptimisation: makes frames from lists, see flow_x86_64.c */
	bool interpreter; /* look for FLOW_BUILT; slots as below, words from the frame pointer */
	int8_t sender_sp_slot, method_slot;
};

struct flow; /* decoder and scratch memory, about 120 KiB */

struct flow *flow_new(void); /* NULL: out of memory */
void flow_free(struct flow *f);
void flow_follow(struct flow *f, const struct flow_options *o, uint64_t pc, struct flow_row *ret);

/*
 * Does code in [from, to) with frames of `words` move the stack pointer except to make and leave the frame (pushes
 * around leaf calls, scratch space)?
 */
bool flow_moves_sp(const struct flow_options *o, uint64_t from, uint64_t to, int32_t words);

/*
 * Is `pc`, which is in a vtable or an itable stub, in an itable stub? Those have branches, to search for the
 * interface, and end with a jump for an interface that was not found; a vtable stub is two loads and a jump through
 * memory (vtableStubs_x86_64.cpp). False if the code cannot be read.
 */
bool flow_is_itable(const struct flow_options *o, uint64_t pc);

/* False: it depends on an unknown register or unreadable memory. */
bool flow_eval(const struct flow_val *v, const struct regs *regs, struct mem *mem, uint64_t *ret);

static inline bool flow_same(struct flow_val a, struct flow_val b)
{
	return a.kind == b.kind && a.base == b.base && a.off == b.off && a.add == b.add && a.more == b.more;
}

#endif
