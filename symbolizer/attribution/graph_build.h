#ifndef JS_ATTRIBUTION_GRAPH_BUILD_H
#define JS_ATTRIBUTION_GRAPH_BUILD_H

#include "symbolizer/attribution/graph.h"
#include "symbolizer/base/vec.h"

/* A graph while it is built. The finished one (graph_pack()) keeps less of each instruction. */
enum build_flag { /* besides enum insn_flag */
		  BUILD_ROOT = 1 << 8, /* reached from elsewhere: handler, target of a null check */
		  BUILD_RECORD = 1 << 9, /* a trustworthy record belongs to it */
		  BUILD_FLOATING = 1 << 10, /* floating-point arithmetic */
		  BUILD_ARGUMENT = 1 << 11, /* loads a constant as the first argument of a call */
		  BUILD_LIMIT = 1 << 12, /* compares a register with a constant */
};

struct build_insn {
	uint32_t off; /* from code begin */
	/*
	 * An index; for INSN_JMP_INDIRECT, into tables; -1: outside or none. With BUILD_ARGUMENT or BUILD_LIMIT, the
	 * constant.
	 */
	int32_t target;
	int32_t evidence; /* index into evidence; -1: none */
	int32_t loop; /* innermost; -1: none */
	uint8_t len : 4, class : 4; /* enum insn_class */
	uint8_t role; /* for a call: enum blob_role of its target, if known */
	uint16_t flags;
};

struct jump_table {
	uint32_t first, n; /* in table_targets */
};

struct graph_build {
	const struct code *code;
	const struct attribution_env *env;
	const struct decoder *decoder;
	bool c1, damaged; /* as in struct graph */
	bool unknown_table; /* some indirect jump has table 0 */
	uint32_t *at; /* per byte of code: 1 + index of the instruction that starts there, or AT_* */
	struct build_insn *insns; /* by offset */
	uint32_t n_insns;
	VEC(struct jump_table) tables; /* 0: orphan blocks, the targets of indirect jumps whose table is unknown */
	VEC(uint32_t) table_targets;
	struct inline_tree tree;
	VEC(struct evidence) evidence;
	VEC(uint64_t) sites; /* as in struct graph */
	VEC(struct graph_jump) jumps; /* this and by_target as in struct graph */
	uint32_t *by_target;
	uint32_t *to_start; /* jumps to i: by_target[to_start[i] .. to_start[i + 1]) */
	bool goes_back; /* some jump does: otherwise, there is no loop */
	VEC(struct loop) loops;
};

#define AT_NONE 0
#define AT_INSIDE UINT32_MAX

/*
 * Zero-initialise `b` but for code, env and decoder; build_done() releases, also after an error. Errors as of
 * graph_new().
 */
int build_run(struct graph_build *b);
int graph_pack(const struct graph_build *b, struct graph **ret);
void build_done(struct graph_build *b);

/* The steps of build_run(), each in its own file. All return 0 or a negative errno. */
int build_decode(struct graph_build *b); /* instructions, edges, jump tables */
int build_place_evidence(struct graph_build *b); /* converts records to evidence; cuts edges to cold code */
int build_link(struct graph_build *b); /* jumps, by origin and by target */
int build_find_loops(struct graph_build *b);
int build_find_open_paths(struct graph_build *b);

/* The instruction that starts at this code offset; -1: none. */
static inline int32_t build_insn_at(const struct graph_build *b, int64_t off)
{
	if (off < 0 || off >= b->code->n_bytes || b->at[off] == AT_NONE || b->at[off] == AT_INSIDE)
		return -1;
	return (int32_t)(b->at[off] - 1);
}

/* Successor k of instruction i: an index; -1: cut off, or outside of the method; -2: there are no more. */
static inline int32_t build_successor(const struct graph_build *b, uint32_t i, uint32_t k)
{
	const struct build_insn *in = &b->insns[i];

	if (k == 0)
		return in->flags & INSN_FALLS ? (int32_t)i + 1 : -1;
	if (in->class == INSN_JMP_INDIRECT) {
		const struct jump_table *t = &b->tables.v[in->target];

		return k - 1 < t->n ? (int32_t)b->table_targets.v[t->first + k - 1] : -2;
	}
	return k == 1 ? (in->flags & INSN_TAKEN ? in->target : -1) : -2;
}

/* The statement behind it runs for each instruction `s` that may follow instruction `i`; k0 1: other than the next. */
#define for_each_successor(s, b, i, k0)                                                                                \
	for (int32_t k_ = (k0), s; (s = build_successor(b, i, (uint32_t)k_)) != -2; k_++)                              \
		if (s < 0) {                                                                                           \
		} else

#endif
