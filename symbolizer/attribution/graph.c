#include "symbolizer/attribution/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/attribution/graph_build.h"
#include "symbolizer/base/sorted.h"

static uint32_t count_edges(struct graph *g)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n_insns; i++)
		for_each_successor(s, g, i) {
			g->pred_start[s + 1]++;
			n++;
		}
	return n;
}

int graph_link(struct graph *g)
{
	uint32_t n;

	g->pred_start = calloc((size_t)g->n_insns + 2, sizeof(*g->pred_start));
	if (!g->pred_start)
		return -ENOMEM;
	n = count_edges(g);
	g->preds = malloc(((size_t)n + 1) * sizeof(*g->preds));
	if (!g->preds)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->n_insns; i++)
		g->pred_start[i + 1] += g->pred_start[i];
	/*
	 * pred_start[s + 1] is the end of list s; filling the list moves it down to the list's start. Hence the
	 * memmove().
	 */
	for (uint32_t i = g->n_insns; i-- > 0;)
		for_each_successor(s, g, i)
			g->preds[--g->pred_start[s + 1]] = i;
	memmove(g->pred_start, g->pred_start + 1, g->n_insns * sizeof(*g->pred_start));
	g->pred_start[g->n_insns] = n;
	return 0;
}

static size_t graph_size(const struct graph *g)
{
	return sizeof(*g) + g->n_insns * (sizeof(*g->insns) + sizeof(*g->open_paths) + sizeof(*g->pred_start)) +
	       g->pred_start[g->n_insns] * sizeof(*g->preds) + g->n_evidence * sizeof(*g->evidence) +
	       g->n_loops * sizeof(*g->loops) + g->n_tables * sizeof(*g->tables) +
	       g->n_table_targets * sizeof(*g->table_targets) + g->tree.nodes.cap * sizeof(*g->tree.nodes.v) +
	       slots_bytes(&g->tree.by_place) + g->n_sites * sizeof(*g->sites);
}

int graph_new(const struct code *code, const struct attribution_env *env, const struct decoder *d, struct graph **ret)
{
	struct graph_build b = {.code = code, .env = env, .decoder = d};
	int r;

	if (code->n_bytes == 0 || !code->bytes)
		return -EINVAL;
	if (code->n_bytes > GRAPH_MAX_BYTES)
		return -E2BIG;
	b.g = calloc(1, sizeof(*b.g));
	b.at = calloc(code->n_bytes, sizeof(*b.at));
	if (b.g)
		b.g->c1 = code->tier != TIER_C2;
	r = b.g && b.at ? inline_tree_init(&b.g->tree, code->method_id) : -ENOMEM;
	if (r == 0)
		r = graph_decode(&b);
	if (r == 0)
		r = graph_place_evidence(&b);
	if (r == 0)
		r = graph_link(b.g);
	if (r == 0)
		r = graph_find_loops(b.g);
	if (r == 0)
		r = graph_find_open_paths(b.g);
	free(b.at);
	if (r) {
		graph_free(b.g);
		return r;
	}
	b.g->bytes = graph_size(b.g);
	*ret = b.g;
	return 0;
}

void graph_free(struct graph *g)
{
	if (!g)
		return;
	free(g->insns);
	free(g->open_paths);
	free(g->pred_start);
	free(g->preds);
	free(g->evidence);
	free(g->loops);
	free(g->tables);
	free(g->table_targets);
	inline_tree_done(&g->tree);
	free(g->sites);
	free(g);
}

int32_t graph_find(const struct graph *g, uint32_t pc)
{
	return (int32_t)first_above(g->insns, g->n_insns, off, pc) - 1;
}
