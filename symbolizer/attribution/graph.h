#ifndef JS_ATTRIBUTION_GRAPH_H
#define JS_ATTRIBUTION_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/attribution/decode/decode.h"
#include "symbolizer/attribution/decode/inline_tree.h"
#include "symbolizer/attribution/env.h"
#include "symbolizer/attribution/graph_insn.h"
#include "symbolizer/base/sorted.h"

/*
 * The control flow of one nmethod: instructions, edges, loops, and evidence. Evidence is an instruction that has a
 * trustworthy record, or leads on one side straight to cold code that has one. A graph is built once from the copies in
 * struct code, and immutable afterwards. Caches hold many, so it is one block of memory with 2 bytes for each
 * instruction; what only some instructions have is in arrays sorted by instruction, and flags tell which these are.
 */
enum {
	GRAPH_MAX_INSNS = 200 * 1000,
	GRAPH_MAX_BYTES = 4 << 20, /* of code */
	GRAPH_MAX_LOOP_DEPTH = 64,
	GRAPH_MAX_TABLE = 1024, /* entries of one jump table */
	GRAPH_MAX_TARGETS = 1 << 16, /* of all jump tables */
	GRAPH_MAX_JUMPS = 1 << 20, /* edges; several indirect jumps may have the same targets */
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

/* An edge other than that to the next instruction. */
struct graph_jump {
	uint32_t from, to;
};

/* From this instruction on, those with INSN_LOOP belong to this loop, their innermost. */
struct loop_run {
	uint32_t insn;
	int32_t loop;
};

/* Up to the next such instruction, each one starts where the one before it ends. */
struct insn_start {
	uint32_t insn, off;
};

struct evidence_at {
	uint32_t insn : 18, kind : 3, trap : 3, at_call : 1;
	uint32_t moved : 1; /* struct evidence_after has `after`; otherwise it is the same as pos */
	uint32_t site; /* pos */
};
_Static_assert(GRAPH_MAX_INSNS < 1 << 18 && EVIDENCE_KINDS <= 1 << 3 && TRAP_KINDS <= 1 << 3, "struct evidence_at");

struct evidence_after {
	uint32_t insn;
	struct inline_pos after;
};

struct graph {
	const struct graph_insn *insns; /* by offset */
	const struct insn_start *starts;
	const struct graph_jump *jumps; /* sorted by `from`, those of a jump table in its order */
	const uint32_t *by_target; /* indices of jumps, sorted by `to`, then `from` */
	const struct evidence_at *evidence;
	const struct evidence_after *after;
	const struct loop *loops;
	const struct loop_run *runs;
	const uint64_t *sites; /* sorted, site_of_pos(): positions of records and of the call sites leading to them */
	struct inline_tree tree; /* in the same memory; nothing is added to it */
	uint32_t n_insns, n_starts, n_jumps, n_evidence, n_after, n_loops, n_runs, n_sites;
	bool c1; /* compiled by C1 */
	/* Bytes and tables do not match, or bytes are missing: nothing in the graph is certain. */
	bool damaged;
	size_t bytes; /* memory held */
};

static inline uint64_t site_of_pos(struct inline_pos pos)
{
	return (uint64_t)(uint32_t)pos.node << 32 | (uint32_t)pos.bci;
}

static inline struct inline_pos pos_of_site(uint64_t site)
{
	return (struct inline_pos){.node = (int32_t)(site >> 32), .bci = (int32_t)(uint32_t)site};
}

/* -E2BIG: too large; -EINVAL: nothing to decode; -ENOMEM. */
int graph_new(const struct code *code, const struct attribution_env *env, const struct decoder *d, struct graph **ret);
void graph_free(struct graph *g);

/* The instruction that contains pc, or the one before a gap; -1: none. */
int32_t graph_find(const struct graph *g, uint32_t pc);

/* The offset of an instruction from code begin. */
uint32_t graph_offset(const struct graph *g, uint32_t i);

/* The evidence that an instruction with INSN_EVIDENCE is. */
struct evidence graph_evidence(const struct graph *g, uint32_t i);

/* Is there a record at bci of this node, or in a method inlined there? */
bool graph_has_site(const struct graph *g, int32_t node, int32_t bci);

/* The innermost loop of an instruction; -1: none. */
static inline int32_t graph_loop(const struct graph *g, uint32_t i)
{
	return g->insns[i].flags & INSN_LOOP ? g->runs[first_above(g->runs, g->n_runs, insn, i) - 1].loop : -1;
}

/* Is `inner` the loop `outer` or one within it? */
static inline bool loop_contains(const struct graph *g, int32_t outer, int32_t inner)
{
	return inner >= outer && (uint32_t)inner <= g->loops[outer].last;
}

/*
 * C2 code: do all paths to and from an instruction without evidence, up to the first evidence, entry or return, belong
 * to the compiled method itself?
 */
static inline bool graph_encloses(const struct graph *g, uint32_t i)
{
	return !(g->insns[i].flags & (INSN_OPEN_AHEAD | INSN_OPEN_BEHIND));
}

/* May the instruction before it continue with this one? */
static inline bool graph_falls_into(const struct graph *g, uint32_t i)
{
	return i > 0 && g->insns[i - 1].flags & INSN_FALLS;
}

/* The first jump of an instruction with INSN_TAKEN. */
static inline uint32_t graph_jumps_from(const struct graph *g, uint32_t i)
{
	return (uint32_t)first_where(g->n_jumps, k, g->jumps[k].from >= i);
}

/* The first one in by_target that leads to an instruction with INSN_JOINED. */
static inline uint32_t graph_jumps_to(const struct graph *g, uint32_t i)
{
	return (uint32_t)first_where(g->n_jumps, k, g->jumps[g->by_target[k]].to >= i);
}

#endif
