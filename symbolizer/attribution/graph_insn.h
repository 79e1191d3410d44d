#ifndef JS_ATTRIBUTION_GRAPH_INSN_H
#define JS_ATTRIBUTION_GRAPH_INSN_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/attribution/decode/inline_tree.h"

/* Instructions of a graph (graph.h), and the evidence that they can be. */
enum insn_flag {
	INSN_ENTRY = 1, /* the compiled method begins here: normal or OSR entry */
	INSN_FALLS = 2, /* may continue with the next instruction */
	INSN_TAKEN = 4, /* may go to `target` */
	INSN_ROOT = 8, /* reached from elsewhere: handler, target of a null check */
	INSN_RECORD = 16, /* a trustworthy record belongs to it */
	INSN_FLOATING = 32, /* floating-point arithmetic */
	INSN_ARGUMENT = 64, /* loads a constant as the first argument of a call */
	INSN_LIMIT = 128, /* compares a register with a constant */
};

struct graph_insn {
	uint32_t off; /* from code begin */
	/*
	 * An index; for INSN_JMP_INDIRECT, into tables; -1: outside or none. With INSN_ARGUMENT or INSN_LIMIT, the
	 * constant.
	 */
	int32_t target;
	int32_t evidence; /* index into evidence; -1: none */
	int32_t loop; /* innermost; -1: none */
	uint8_t len;
	uint8_t class; /* enum insn_class */
	uint8_t flags;
	uint8_t role; /* for a call: enum blob_role of its target, if known */
};

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
