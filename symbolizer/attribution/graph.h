#ifndef JS_ATTRIBUTION_GRAPH_H
#define JS_ATTRIBUTION_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/attribution/decode/decode.h"
#include "symbolizer/attribution/decode/inline_tree.h"
#include "symbolizer/attribution/env.h"
#include "symbolizer/attribution/graph_insn.h"

/*
 * The control flow of one nmethod: instructions, edges, loops, and evidence. Evidence is an instruction that has a
 * trustworthy record, or leads on one side straight to cold code that has one. A graph is built once from the copies in
 * struct code, and immutable afterwards.
 */
enum {
	GRAPH_MAX_INSNS = 200 * 1000,
	GRAPH_MAX_BYTES = 4 << 20, /* of code */
	GRAPH_MAX_LOOP_DEPTH = 64,
	GRAPH_MAX_TABLE = 1024, /* entries of one jump table */
	GRAPH_MAX_TARGETS = 1 << 16, /* of all jump tables */
};

/* What the instructions of a loop, including inner loops, do. */
enum loop_effects {
	LOOP_FLOATING = 1, /* floating-point arithmetic */
	/* calls without a record, of stubs and of native code; an unknown target may be either */
	LOOP_STUB_CALL = 2,
	LOOP_RUNTIME_CALL = 4,
};

enum { LOOP_LIMITS = 2 };

/* A strongly connected part of the graph; inner loops do not contain its header. */
struct loop {
	int32_t parent; /* -1: none */
	uint32_t depth; /* 0: outermost */
	uint32_t last; /* loops [own index, last] are this one and its inner loops */
	bool evidence; /* it contains evidence */
	uint8_t effects; /* enum loop_effects */
	uint8_t n_limits;
	int32_t limits[LOOP_LIMITS]; /* the first constants that it compares with, not counting inner loops */
};

struct jump_table {
	uint32_t first, n; /* in table_targets */
};

/* Some path in this direction first meets evidence of an inlined method, or leads to an unknown place. */
enum open_paths {
	OPEN_AHEAD = 1,
	OPEN_BEHIND = 2,
};

struct graph {
	struct graph_insn *insns; /* by offset */
	uint8_t *open_paths; /* enum open_paths, per instruction */
	uint32_t n_insns;
	uint32_t *pred_start, *preds; /* predecessors of i: preds[pred_start[i] .. pred_start[i + 1]) */
	struct evidence *evidence;
	uint32_t n_evidence;
	struct loop *loops;
	uint32_t n_loops;
	struct jump_table *tables; /* 0: orphan blocks, the targets of indirect jumps whose table is unknown */
	uint32_t n_tables;
	uint32_t *table_targets;
	uint32_t n_table_targets;
	struct inline_tree tree;
	uint64_t *sites; /* sorted (node << 32 | bci): positions of records and of the call sites leading to them */
	uint32_t n_sites;
	bool c1; /* compiled by C1 */
	/* Bytes and tables do not match, or bytes are missing: nothing in the graph is certain. */
	bool damaged;
	size_t bytes; /* memory held */
};

/* -E2BIG: too large; -EINVAL: nothing to decode; -ENOMEM. */
int graph_new(const struct code *code, const struct attribution_env *env, const struct decoder *d, struct graph **ret);
void graph_free(struct graph *g);

/* The instruction that contains pc, or the one before a gap; -1: none. */
int32_t graph_find(const struct graph *g, uint32_t pc);

/* Is `inner` the loop `outer` or one within it? */
static inline bool loop_contains(const struct graph *g, int32_t outer, int32_t inner)
{
	return inner >= outer && (uint32_t)inner <= g->loops[outer].last;
}

/*
 * Do all paths to and from an instruction without evidence, up to the first evidence, entry or return, belong to the
 * compiled method itself?
 */
static inline bool graph_encloses(const struct graph *g, uint32_t i)
{
	return g->open_paths[i] == 0;
}

/* Is there a record at bci of this node, or in a method inlined there? */
bool graph_has_site(const struct graph *g, int32_t node, int32_t bci);

/* Successor k of instruction i: an index; -1: cut off, or outside of the method; -2: there are no more. */
static inline int32_t graph_successor(const struct graph *g, uint32_t i, uint32_t k)
{
	const struct graph_insn *in = &g->insns[i];

	if (k == 0)
		return in->flags & INSN_FALLS ? (int32_t)i + 1 : -1;
	if (in->class == INSN_JMP_INDIRECT) {
		const struct jump_table *t = &g->tables[in->target];

		return k - 1 < t->n ? (int32_t)g->table_targets[t->first + k - 1] : -2;
	}
	return k == 1 ? (in->flags & INSN_TAKEN ? in->target : -1) : -2;
}

/* The statement behind it runs for each instruction `s` that may follow instruction `i`. */
#define for_each_successor(s, g, i)                                                                                    \
	for (int32_t k_ = 0, s; (s = graph_successor(g, i, (uint32_t)k_)) != -2; k_++)                                 \
		if (s < 0) {                                                                                           \
		} else

#endif
