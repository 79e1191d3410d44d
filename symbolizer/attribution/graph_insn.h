#ifndef JS_ATTRIBUTION_GRAPH_INSN_H
#define JS_ATTRIBUTION_GRAPH_INSN_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/attribution/decode/inline_tree.h"

/* Instructions of a graph (graph.h), and the evidence that they can be. */
enum insn_flag {
	INSN_ENTRY = 1, /* the compiled method begins here: normal or OSR entry */
	INSN_FALLS = 2, /* may continue with the next instruction */
	INSN_TAKEN = 4, /* may go elsewhere: a branch, or an indirect jump with known targets */
	INSN_EVIDENCE = 8,
	INSN_JOINED = 16, /* the target of such a branch or jump */
	INSN_LOOP = 32, /* in a loop */
	/*
	 * C2 code: some path in this direction first meets evidence of an inlined method, or leads to an unknown place.
	 */
	INSN_OPEN_AHEAD = 64,
	INSN_OPEN_BEHIND = 128,
};

struct graph_insn {
	uint8_t len : 4, class : 4; /* enum insn_class */
	uint8_t flags;
};
_Static_assert(sizeof(struct graph_insn) == 2, "most of a graph's memory");

enum evidence_kind {
	EVIDENCE_CALL,
	EVIDENCE_POLL,
	EVIDENCE_TRAP, /* a branch with an uncommon trap on one side */
	EVIDENCE_SLOW, /* a branch with a call to a slow path of the runtime on one side */
	EVIDENCE_NULL, /* implicit null check */
	EVIDENCE_KINDS,
};

struct evidence {
	struct inline_pos pos;
	/*
	 * The position just after it: a check of the receiver of an inlined call has the bci of the call, and the
	 * callee follows. Equal to pos if unknown.
	 */
	struct inline_pos after;
	uint8_t kind;
	uint8_t trap; /* enum trap_kind of the trap to which the branch or null check leads */
	bool at_call; /* a check of the receiver of a call */
};

#endif
