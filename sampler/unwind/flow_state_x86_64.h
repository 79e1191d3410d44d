#ifndef JS_UNWIND_FLOW_STATE_X86_64_H
#define JS_UNWIND_FLOW_STATE_X86_64_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/unwind/flow.h"

/* Registers and stack slots on one way through the code. Internal to flow_*.c. */
enum { FLOW_MAX_SLOTS = 48 };

struct flow_state {
	uint64_t pc;
	struct flow_val reg[X86_REGS]; /* by DWARF number */
	struct flow_val frame; /* value of rbp right after `mov rbp, rsp` on this way */
	int8_t popped; /* register that the last pop went to; -1: none */
	struct flow_val popped_sp; /* rsp after it */
	uint8_t n_slots, n_aligned;
	bool called, lost; /* lost: a slot had no room */
	struct {
		struct flow_val addr, val;
	} slot[FLOW_MAX_SLOTS];
};

void flow_state_init(struct flow_state *s, uint64_t pc);
struct flow_val flow_val_add(struct flow_val v, int64_t n);
/* What was stored at `addr` on this way. */
bool flow_stored(const struct flow_state *s, struct flow_val addr, struct flow_val *ret);
struct flow_val flow_load(const struct flow_state *s, struct flow_val addr);
void flow_store(struct flow_state *s, struct flow_val addr, struct flow_val val);
void flow_forget(struct flow_state *s, struct flow_val addr); /* a slot, if it is known */
/* A value in terms of the registers at `s`, in terms of those at the starting pc. */
struct flow_val flow_rebase(const struct flow_state *s, struct flow_val v);
void flow_push(struct flow_state *s, struct flow_val val);
struct flow_val flow_pop(struct flow_state *s);
void flow_clobber_call(struct flow_state *s);

/* The row at the end of the way, where the return address is on top of the stack. */
void flow_row_from(const struct flow_state *s, enum flow_end end, struct flow_row *ret);

#endif
