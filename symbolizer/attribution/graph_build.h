#ifndef JS_ATTRIBUTION_GRAPH_BUILD_H
#define JS_ATTRIBUTION_GRAPH_BUILD_H

#include "symbolizer/attribution/graph.h"

/* The steps of graph_new(), each in its own file. All return 0 or a negative errno. */
struct graph_build {
	const struct code *code;
	const struct attribution_env *env;
	const struct decoder *decoder;
	struct graph *g;
	uint32_t *at; /* per byte of code: 1 + index of the instruction that starts there, or AT_* */
};

#define AT_NONE 0
#define AT_INSIDE UINT32_MAX

int graph_decode(struct graph_build *b); /* instructions, edges, jump tables */
int graph_place_evidence(struct graph_build *b); /* converts records to evidence; cuts edges to cold code */
int graph_link(struct graph *g); /* predecessors */
int graph_find_loops(struct graph *g);
int graph_find_open_paths(struct graph *g);

/* The instruction that starts at this code offset; -1: none. */
static inline int32_t build_insn_at(const struct graph_build *b, int64_t off)
{
	if (off < 0 || off >= b->code->n_bytes || b->at[off] == AT_NONE || b->at[off] == AT_INSIDE)
		return -1;
	return (int32_t)(b->at[off] - 1);
}

#endif
