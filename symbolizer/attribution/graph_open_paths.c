#include "symbolizer/attribution/graph_build.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Finds the instructions with a path from or to them that does not belong to the compiled method itself: it first meets
 * evidence of an inlined method, or leads to an unknown place. The search starts at these ends.
 */
struct way_search {
	struct graph *g;
	uint32_t *queue;
	uint32_t n;
	uint8_t bit;
};

static void mark(struct way_search *w, uint32_t i)
{
	if (w->g->open_paths[i] & w->bit)
		return;
	w->g->open_paths[i] |= w->bit;
	w->queue[w->n++] = i;
}

static bool leads_on(const struct graph *g, uint32_t i)
{
	for_each_successor(s, g, i)
		return true;
	return false;
}

static bool is_foreign_end_ahead(const struct graph *g, uint32_t i)
{
	const struct graph_insn *in = &g->insns[i];

	if (in->evidence >= 0)
		return g->evidence[in->evidence].pos.node != 0;
	return in->class != INSN_RET && !leads_on(g, i);
}

/* Without predecessors, an instruction that is not a root is padding after a jump. */
static bool is_foreign_end_behind(const struct graph *g, uint32_t i)
{
	const struct graph_insn *in = &g->insns[i];

	if (in->evidence >= 0)
		return g->evidence[in->evidence].after.node != 0;
	return !(in->flags & INSN_ENTRY) && in->flags & INSN_ROOT && g->pred_start[i] == g->pred_start[i + 1];
}

static void find_ahead(struct way_search *w)
{
	const struct graph *g = w->g;

	w->n = 0;
	w->bit = OPEN_AHEAD;
	for (uint32_t i = 0; i < g->n_insns; i++)
		if (is_foreign_end_ahead(g, i))
			mark(w, i);
	for (uint32_t head = 0; head < w->n; head++) {
		uint32_t i = w->queue[head];

		for (uint32_t p = g->pred_start[i]; p < g->pred_start[i + 1]; p++)
			if (g->insns[g->preds[p]].evidence < 0)
				mark(w, g->preds[p]);
	}
}

static void find_behind(struct way_search *w)
{
	const struct graph *g = w->g;

	w->n = 0;
	w->bit = OPEN_BEHIND;
	for (uint32_t i = 0; i < g->n_insns; i++)
		if (is_foreign_end_behind(g, i))
			mark(w, i);
	for (uint32_t head = 0; head < w->n; head++)
		for_each_successor(s, g, w->queue[head])
			if (g->insns[s].evidence < 0 && !(g->insns[s].flags & INSN_ENTRY))
				mark(w, (uint32_t)s);
}

int graph_find_open_paths(struct graph *g)
{
	struct way_search w = {.g = g, .queue = malloc((g->n_insns + (size_t)1) * sizeof(*w.queue))};

	g->open_paths = calloc((size_t)g->n_insns + 1, sizeof(*g->open_paths));
	if (!g->open_paths || !w.queue) {
		free(w.queue);
		return -ENOMEM;
	}
	find_ahead(&w);
	find_behind(&w);
	free(w.queue);
	return 0;
}
