#ifndef JS_ATTRIBUTION_GRAPH_H
#define JS_ATTRIBUTION_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/attribution/decode.h"
#include "symbolizer/attribution/env.h"
#include "symbolizer/attribution/inline_tree.h"

/*
 * The control flow of one nmethod: instructions, edges, loops, and the evidence in it (attribution.md
 * 5.1, 5.2): instructions that a trustworthy record names, themselves or through the cold code that
 * they alone lead to. Built once from the copies in struct code, immutable afterwards.
 */
enum {
	GRAPH_MAX_INSNS = 200 * 1000,
	GRAPH_MAX_BYTES = 4 << 20, /* of code */
	GRAPH_MAX_LOOP_DEPTH = 64,
	GRAPH_MAX_TABLE = 1024, /* entries of one jump table */
	GRAPH_MAX_TARGETS = 1 << 16, /* of all jump tables */
};

enum insn_flag {
	INSN_ENTRY = 1, /* the compiled method begins here: normal or OSR entry */
	INSN_FALLS = 2, /* may go on to the next instruction */
	INSN_TAKEN = 4, /* may go to `target` */
	INSN_ROOT = 8, /* reached from elsewhere: handler, record, null check */
	INSN_RECORD = 16, /* a trustworthy record belongs to it */
	INSN_FLOATING = 32, /* floating-point arithmetic */
	INSN_ARGUMENT = 64, /* loads a constant as the first argument of a call */
	INSN_LIMIT = 128, /* compares a register with a constant */
};

struct insn {
	uint32_t off; /* from code begin */
	/* index; INSN_JMP_INDIRECT: index into tables; -1: outside or none; with INSN_ARGUMENT or
	 * INSN_LIMIT: that constant */
	int32_t target;
	int32_t evidence; /* index; -1: none */
	int32_t loop; /* innermost; -1: none */
	uint8_t len;
	uint8_t class; /* enum insn_class */
	uint8_t flags;
	uint8_t role; /* of a call: enum blob_role of its target, if that is known */
};

enum evidence_kind {
	EVIDENCE_CALL,
	EVIDENCE_POLL,
	EVIDENCE_TRAP, /* branch whose one side is an uncommon trap */
	EVIDENCE_SLOW, /* branch whose one side calls a slow path of the runtime */
	EVIDENCE_NULL, /* implicit null check */
	EVIDENCE_KINDS,
};

struct evidence {
	struct inline_pos pos;
	/* Where control stands behind it: a check of the receiver of an inlined call has the bci of the
	 * call, and what follows is the callee. Equal to pos where that is not known. */
	struct inline_pos after;
	uint8_t kind;
	uint8_t trap; /* enum trap_kind: of the trap that the branch or null check leads to */
	bool at_call; /* it is such a check */
};

/* What the instructions of a loop do, those of the loops within it included. */
enum loop_does {
	LOOP_FLOATING = 1, /* floating-point arithmetic */
	/* calls without a record, of stubs and of native code; an unknown target may be either */
	LOOP_STUB_CALL = 2,
	LOOP_RUNTIME_CALL = 4,
};

enum { LOOP_LIMITS = 2 };

/* A strongly connected part of the graph; nested ones lie within it without its header. */
struct loop {
	int32_t parent; /* -1: none */
	uint32_t depth; /* 0: outermost */
	uint32_t last; /* loops [own index, last] are this one and those within it */
	bool evidence; /* there is some in it */
	uint8_t does; /* enum loop_does */
	uint8_t n_limits;
	int32_t limits[LOOP_LIMITS]; /* constants that it compares with, not those within it; the first ones */
};

struct jump_table {
	uint32_t first, n; /* in table_targets */
};

/* There is a way that meets evidence of an inlined method first, or leads nobody knows where. */
enum ways {
	WAYS_AHEAD = 1,
	WAYS_BEHIND = 2,
};

struct graph {
	struct insn *insns; /* by offset */
	uint8_t *ways; /* enum ways, per instruction */
	uint32_t n_insns;
	uint32_t *pred_start, *preds; /* predecessors of i: preds[pred_start[i] .. pred_start[i + 1]) */
	struct evidence *evidence;
	uint32_t n_evidence;
	struct loop *loops;
	uint32_t n_loops;
	struct jump_table *tables; /* 0: orphan blocks, for indirect jumps whose table is unknown */
	uint32_t n_tables;
	uint32_t *table_targets;
	uint32_t n_table_targets;
	struct inline_tree tree;
	uint64_t *sites; /* sorted (node << 32 | bci): where records of this node stand or call */
	uint32_t n_sites;
	bool c1; /* compiled by C1 */
	/* Bytes and tables do not fit together, or bytes are missing: nothing in it is sure. */
	bool damaged;
	size_t bytes; /* memory held */
};

/* -E2BIG: too large; -EINVAL: nothing to decode; -ENOMEM. */
int graph_new(const struct code *code, const struct attribution_env *env, const struct decoder *d,
	      struct graph **ret);
void graph_free(struct graph *g);

/* The instruction that contains pc, or the one before a gap; -1: none. */
int32_t graph_find(const struct graph *g, uint32_t pc);

/* Is `inner` the loop `outer` or one within it? */
static inline bool loop_contains(const struct graph *g, int32_t outer, int32_t inner)
{
	return inner >= outer && (uint32_t)inner <= g->loops[outer].last;
}

/* The instruction has no evidence itself: are all ways to and from it, up to the first evidence, entry or
 * return, the compiled method's own? */
static inline bool graph_encloses(const struct graph *g, uint32_t i)
{
	return g->ways[i] == 0;
}

/* Does a record of this node stand at bci, or call from there? */
bool graph_has_site(const struct graph *g, int32_t node, int32_t bci);

/* Successor number k of i: an index, -1: that one is cut or leaves, -2: no more. */
static inline int32_t graph_successor(const struct graph *g, uint32_t i, uint32_t k)
{
	const struct insn *in = &g->insns[i];

	if (k == 0)
		return in->flags & INSN_FALLS ? (int32_t)i + 1 : -1;
	if (in->class == INSN_JMP_INDIRECT) {
		const struct jump_table *t = &g->tables[in->target];

		return k - 1 < t->n ? (int32_t)g->table_targets[t->first + k - 1] : -2;
	}
	return k == 1 ? (in->flags & INSN_TAKEN ? in->target : -1) : -2;
}

#endif
