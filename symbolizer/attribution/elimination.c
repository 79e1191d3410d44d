#include "symbolizer/attribution/elimination.h"

#include "symbolizer/attribution/bytecodes.h"
#include "symbolizer/attribution/traits.h"

static const struct hs_method *method_of(const struct attribution_env *env, uint32_t id)
{
	const struct hs_method *m = id && env->method ? env->method(env->ctx, id) : NULL;

	return m && m->bytecodes ? m : NULL;
}

/* The bcis at which the two ends stand in the method of the chosen node. */
static void range_of(const struct graph *g, const struct choice *c, int32_t *ret_x, int32_t *ret_y)
{
	*ret_x = inline_tree_bci_in(&g->tree, c->backward.pos, c->pos.node);
	*ret_y = inline_tree_bci_in(&g->tree, c->forward.pos, c->pos.node);
}

bool may_hide_callee(const struct graph *g, const struct attribution_env *env,
		     const struct choice *c)
{
	const struct hs_method *m = method_of(env, g->tree.nodes[c->pos.node].method_id);
	struct bytecode b;
	int32_t x, y;

	if (!m)
		return true;
	range_of(g, c, &x, &y);
	if (c->forward.pseudo)
		y = m->code_size;
	for (int32_t bci = 0; bci < m->code_size; bci += (int32_t)b.len) {
		if (!bytecode_at(m, env->major, bci, &b))
			return true;
		if (b.kind != BYTECODE_INVOKE && b.kind != BYTECODE_INVOKEDYNAMIC)
			continue;
		/* On the way from one end to the other; in a loop, anywhere. */
		if (x <= y ? bci > x && bci < y : !graph_has_site(g, c->pos.node, bci))
			return true;
	}
	return false;
}

/* The largest loop around the instruction that has no evidence. */
static int32_t blind_loop(const struct graph *g, int32_t loop)
{
	while (g->loops[loop].parent >= 0 && !g->loops[g->loops[loop].parent].evidence)
		loop = g->loops[loop].parent;
	return loop;
}

struct candidates {
	const struct attribution_env *env;
	struct machine_traits machine;
	unsigned n;
	struct hidden_callee last;
};

static void candidate_add(struct candidates *c, int32_t bci, uint32_t method_id, bool visible)
{
	struct bytecode_traits t;

	bytecode_traits(c->env, method_id, &t);
	/* What a visible method calls is visible too, most of it. */
	if ((!t.loops && (visible || !t.unknown)) || !traits_agree(&c->machine, &t))
		return;
	c->n++;
	c->last = (struct hidden_callee){.call_bci = bci, .method_id = method_id};
}

/* The inlined method that an end of the choice stands in may be the one that loops, its checks done
 * before the loop. */
static void visible_add(struct candidates *c, const struct graph *g, struct inline_pos pos,
			int32_t node)
{
	while (pos.node != node && g->tree.nodes[pos.node].parent != node)
		pos.node = g->tree.nodes[pos.node].parent;
	if (pos.node != node)
		candidate_add(c, g->tree.nodes[pos.node].call_bci,
			      g->tree.nodes[pos.node].method_id, true);
}

/* Adds the calls of m between x and y that no record knows; false: the loop may be the method's own. */
static bool hidden_add(struct candidates *c, const struct graph *g, const struct hs_method *m,
		       int32_t node, int32_t x, int32_t y)
{
	uint32_t id = g->tree.nodes[node].method_id;
	struct bytecode b;

	for (int32_t bci = 0; bci < m->code_size && bci < y; bci += (int32_t)b.len) {
		if (!bytecode_at(m, c->env->major, bci, &b))
			return false;
		if (bci > x && b.kind == BYTECODE_BRANCH && b.target <= bci && b.target >= x)
			return false;
		if (bci <= x || graph_has_site(g, node, bci))
			continue;
		if (b.kind == BYTECODE_INVOKE || b.kind == BYTECODE_INVOKEDYNAMIC)
			candidate_add(c, bci,
				      b.kind == BYTECODE_INVOKE ?
					      c->env->callee(c->env->ctx, id, bci) :
					      0,
				      false);
	}
	return true;
}

bool find_hidden_callee(const struct graph *g, const struct attribution_env *env,
			const struct choice *c, struct hidden_callee *ret)
{
	const struct hs_method *m = method_of(env, g->tree.nodes[c->pos.node].method_id);
	struct candidates found = {.env = env};
	int32_t x, y;

	if (!m || !env->callee || !c->forward.found || !c->backward.found)
		return false;
	range_of(g, c, &x, &y);
	if (x >= y)
		return false;
	found.machine = machine_traits(g, blind_loop(g, c->loop));
	if (!hidden_add(&found, g, m, c->pos.node, x, y))
		return false;
	if (found.n == 1) {
		*ret = found.last;
		visible_add(&found, g, c->backward.pos, c->pos.node);
		visible_add(&found, g, c->forward.pos, c->pos.node);
	}
	return found.n == 1;
}
