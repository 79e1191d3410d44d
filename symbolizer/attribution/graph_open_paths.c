#include "symbolizer/attribution/graph_build.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Finds the instructions with a path from or to them that does not belong to the compiled method itself: it first meets
 * evidence of an inlined method, or leads to an unknown place. The search starts at these ends.
 */
struct way_search {
	struct graph_build *b;
	uint32_t *queue;
	uint32_t n;
	uint8_t flag; /* INSN_OPEN_* */
};

static void mark(struct way_search *w, uint32_t i)
{
	struct build_insn *in = &w->b->insns[i];

	if (in->flags & w->flag)
		return;
	in->flags |= w->flag;
	w->queue[w->n++] = i;
}

static void mark_unless_evidence(struct way_search *w, uint32_t i)
{
	if (!(w->b->insns[i].flags & INSN_EVIDENCE))
		mark(w, i);
}

static bool falls_into(const struct graph_build *b, uint32_t i)
{
	return i > 0 && b->insns[i - 1].flags & INSN_FALLS;
}

static bool is_foreign_end_ahead(const struct graph_build *b, uint32_t i)
{
	const struct build_insn *in = &b->insns[i];

	if (in->flags & INSN_EVIDENCE)
		return b->evidence.v[in->evidence].pos.node != 0;
	return !(in->flags & (INSN_FALLS | INSN_TAKEN)) && in->class != INSN_RET;
}

/* Without predecessors, an instruction that is not a root is padding after a jump. */
static bool is_foreign_end_behind(const struct graph_build *b, uint32_t i)
{
	const struct build_insn *in = &b->insns[i];

	if (in->flags & INSN_EVIDENCE)
		return b->evidence.v[in->evidence].after.node != 0;
	return (in->flags & (BUILD_ROOT | INSN_ENTRY | INSN_JOINED)) == BUILD_ROOT && !falls_into(b, i);
}

static void find_ahead(struct way_search *w)
{
	const struct graph_build *b = w->b;

	w->n = 0;
	w->flag = INSN_OPEN_AHEAD;
	for (uint32_t i = 0; i < b->n_insns; i++)
		if (is_foreign_end_ahead(b, i))
			mark(w, i);
	for (uint32_t head = 0; head < w->n; head++) {
		uint32_t i = w->queue[head];

		if (falls_into(b, i))
			mark_unless_evidence(w, i - 1);
		for (uint32_t k = b->to_start[i]; k < b->to_start[i + 1]; k++)
			mark_unless_evidence(w, b->jumps.v[b->by_target[k]].from);
	}
}

static void find_behind(struct way_search *w)
{
	const struct graph_build *b = w->b;

	w->n = 0;
	w->flag = INSN_OPEN_BEHIND;
	for (uint32_t i = 0; i < b->n_insns; i++)
		if (is_foreign_end_behind(b, i))
			mark(w, i);
	for (uint32_t head = 0; head < w->n; head++)
		for_each_successor(s, b, w->queue[head], 0)
			if (!(b->insns[s].flags & INSN_ENTRY))
				mark_unless_evidence(w, (uint32_t)s);
}

int build_find_open_paths(struct graph_build *b)
{
	struct way_search w = {.b = b, .queue = malloc((b->n_insns + (size_t)1) * sizeof(*w.queue))};

	if (!w.queue)
		return -ENOMEM;
	find_ahead(&w);
	find_behind(&w);
	free(w.queue);
	return 0;
}
