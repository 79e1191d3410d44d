#include "symbolizer/attribution/graph.h"

#include <errno.h>
#include <stdlib.h>

#include "symbolizer/attribution/graph_build.h"

int build_run(struct graph_build *b)
{
	int r;

	if (b->code->n_bytes == 0 || !b->code->bytes)
		return -EINVAL;
	if (b->code->n_bytes > GRAPH_MAX_BYTES)
		return -E2BIG;
	b->c1 = b->code->tier != TIER_C2;
	r = inline_tree_init(&b->tree, b->code->method_id);
	if (r == 0)
		r = build_decode(b);
	if (r == 0)
		r = build_place_evidence(b);
	if (r == 0)
		r = build_link(b);
	if (r == 0 && b->goes_back)
		r = build_find_loops(b);
	if (r == 0 && !b->c1)
		r = build_find_open_paths(b);
	return r;
}

void build_done(struct graph_build *b)
{
	free(b->at);
	free(b->insns);
	vec_done(&b->tables);
	vec_done(&b->table_targets);
	inline_tree_done(&b->tree);
	vec_done(&b->evidence);
	vec_done(&b->sites);
	vec_done(&b->jumps);
	free(b->by_target);
	free(b->to_start);
	vec_done(&b->loops);
}

int graph_new(const struct code *code, const struct attribution_env *env, const struct decoder *d, struct graph **ret)
{
	struct graph_build b = {.code = code, .env = env, .decoder = d};
	int r = build_run(&b);

	if (r == 0)
		r = graph_pack(&b, ret);
	build_done(&b);
	return r;
}

void graph_free(struct graph *g)
{
	free(g);
}

/* The last instruction of those from s on that starts at or before pc. */
static uint32_t find_from(const struct graph *g, const struct insn_start *s, uint32_t pc)
{
	uint32_t end = s + 1 < g->starts + g->n_starts ? s[1].insn : g->n_insns;
	uint32_t i = s->insn, off = s->off;

	while (i + 1 < end && pc - off >= g->insns[i].len)
		off += g->insns[i++].len;
	return i;
}

int32_t graph_find(const struct graph *g, uint32_t pc)
{
	size_t k = first_above(g->starts, g->n_starts, off, pc);

	return k > 0 ? (int32_t)find_from(g, &g->starts[k - 1], pc) : -1;
}

uint32_t graph_offset(const struct graph *g, uint32_t i)
{
	const struct insn_start *s = &g->starts[first_above(g->starts, g->n_starts, insn, i) - 1];
	uint32_t off = s->off;

	for (uint32_t k = s->insn; k < i; k++)
		off += g->insns[k].len;
	return off;
}

struct evidence graph_evidence(const struct graph *g, uint32_t i)
{
	const struct evidence_at *at = &g->evidence[first_above(g->evidence, g->n_evidence, insn, i) - 1];
	struct evidence e = {
		.pos = pos_of_site(g->sites[at->site]),
		.kind = at->kind,
		.trap = at->trap,
		.at_call = at->at_call,
	};

	e.after = at->moved ? g->after[first_above(g->after, g->n_after, insn, i) - 1].after : e.pos;
	return e;
}

bool graph_has_site(const struct graph *g, int32_t node, int32_t bci)
{
	uint64_t site = site_of_pos((struct inline_pos){node, bci});
	size_t k = first_where(g->n_sites, i, g->sites[i] >= site);

	return k < g->n_sites && g->sites[k] == site;
}
