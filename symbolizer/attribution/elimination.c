#include "symbolizer/attribution/elimination.h"

#include "symbolizer/attribution/decode/bytecodes.h"
#include "symbolizer/attribution/invokes.h"
#include "symbolizer/attribution/limits.h"
#include "symbolizer/attribution/traits.h"

static const struct hs_method *method_of(const struct attribution_env *env, uint32_t id)
{
	const struct hs_method *m = id && env->method ? env->method(env->ctx, id) : NULL;

	return m && m->bytecodes ? m : NULL;
}

/* The bcis of the two ends in the method of the chosen node. */
static void range_of(const struct graph *g, const struct choice *c, int32_t *ret_x, int32_t *ret_y)
{
	*ret_x = inline_tree_bci_in(&g->tree, c->backward.pos, c->pos.node);
	*ret_y = inline_tree_bci_in(&g->tree, c->forward.pos, c->pos.node);
}

/*
 * Can control pass the call at bci between x and y? A check at the bci of a call is that of its receiver, which the
 * callee may follow. In a loop, control may go round and pass any call.
 */
static bool on_the_way(const struct graph *g, const struct choice *c, int32_t x, int32_t y, int32_t bci)
{
	bool check = !c->backward.pseudo && c->backward.kind != EVIDENCE_CALL;

	if (x < y || (x == y && !c->in_loop))
		return bci < y && (bci > x || (bci == x && check));
	return !graph_has_site(g, c->pos.node, bci);
}

bool may_hide_callee(const struct graph *g, const struct attribution_env *env, const struct choice *c)
{
	uint32_t id = g->tree.nodes.v[c->pos.node].method_id;
	const struct hs_method *m = method_of(env, id);
	struct invokes calls;
	int32_t x, y;

	if (!m || !method_invokes(env, id, &calls))
		return true;
	range_of(g, c, &x, &y);
	if (!c->backward.found)
		x = -1;
	if (c->forward.pseudo)
		y = m->code_size;
	for (uint32_t i = 0; i < calls.n; i++)
		if (on_the_way(g, c, x, y, calls.bcis[i]))
			return true;
	return false;
}

/* The outermost loop around the instruction that has no evidence. */
static int32_t blind_loop(const struct graph *g, int32_t loop)
{
	while (g->loops[loop].parent >= 0 && !g->loops[g->loops[loop].parent].evidence)
		loop = g->loops[loop].parent;
	return loop;
}

struct candidates {
	const struct attribution_env *env;
	const struct graph *g;
	struct machine_traits machine;
	unsigned n;
	struct hidden_callee last;
};

static bool is_same(const struct hidden_callee *a, const struct hidden_callee *b)
{
	return a->at.node == b->at.node && a->at.bci == b->at.bci && a->method_id == b->method_id;
}

/* visible: the callee's node, or -1. */
static void candidate_add(struct candidates *c, struct inline_pos at, uint32_t method_id, int32_t visible)
{
	struct bytecode_traits t;
	struct hidden_callee h;

	if (visible >= 0)
		bytecode_traits_at(c->g, c->env, visible, &t);
	else
		bytecode_traits(c->env, method_id, &t);
	/* Most callees of a visible method are visible, too, so unknown calls do not count. */
	if ((!t.loops && (visible >= 0 || !t.unknown)) || t.left_out || !traits_agree(&c->machine, &t))
		return;
	h = (struct hidden_callee){.at = at, .method_id = method_id};
	if (c->n && is_same(&c->last, &h))
		return;
	c->n++;
	c->last = h;
}

/*
 * The loop may be in the inlined method of an end of the choice, which then has its checks before the loop and its
 * polls after it.
 */
static void visible_add(struct candidates *c, const struct choice_end *end, int32_t node)
{
	const struct inline_node *nodes = c->g->tree.nodes.v;
	int32_t x = end->pos.node;

	while (x != node && nodes[x].parent != node)
		x = nodes[x].parent;
	if (x != node)
		candidate_add(c, (struct inline_pos){node, nodes[x].call_bci}, nodes[x].method_id, x);
}

/* Adds the calls of m between x and y that have no record; false: the loop may be the method's own. */
static bool hidden_add(struct candidates *c, const struct hs_method *m, int32_t node, int32_t x, int32_t y)
{
	uint32_t id = c->g->tree.nodes.v[node].method_id, callee;
	struct bytecode b;

	for (int32_t bci = 0; bci < m->code_size && bci < y; bci += (int32_t)b.len) {
		if (!bytecode_at(m, c->env->major, bci, &b))
			return false;
		if (bci > x && b.kind == BYTECODE_BRANCH && b.target <= bci && b.target >= x)
			return false;
		if (bci <= x || graph_has_site(c->g, node, bci) ||
		    (b.kind != BYTECODE_INVOKE && b.kind != BYTECODE_INVOKEDYNAMIC))
			continue;
		callee = b.kind == BYTECODE_INVOKE ? c->env->callee(c->env->ctx, id, bci) : 0;
		candidate_add(c, (struct inline_pos){node, bci}, callee, -1);
	}
	return true;
}

/*
 * Counts the inlined methods called between x and y that have records, and a loop with the same limit as this one: a
 * loop of mere arithmetic has no evidence of its own. *ret is the last such method.
 */
static unsigned find_by_limit(const struct graph *g, const struct attribution_env *env, int32_t node, int32_t loop,
			      int32_t x, int32_t y, struct hidden_callee *ret)
{
	unsigned n = 0;

	for (uint32_t i = 1; i < g->tree.nodes.n; i++) {
		const struct inline_node *t = &g->tree.nodes.v[i];

		if (t->parent != node || t->call_bci < x || t->call_bci > y ||
		    !limits_agree(g, loop, env, t->method_id))
			continue;
		*ret = (struct hidden_callee){{node, t->call_bci}, t->method_id};
		n++;
	}
	return n;
}

bool find_hidden_callee(const struct graph *g, const struct attribution_env *env, const struct choice *c,
			struct hidden_callee *ret)
{
	const struct hs_method *m = method_of(env, g->tree.nodes.v[c->pos.node].method_id);
	struct candidates found = {.env = env, .g = g};
	int32_t x, y, loop;
	unsigned by_limit;

	if (!m || !env->callee || !c->forward.found || !c->backward.found)
		return false;
	range_of(g, c, &x, &y);
	if (x >= y)
		return false;
	loop = blind_loop(g, c->loop);
	found.machine = machine_traits(g, loop);
	if (!hidden_add(&found, m, c->pos.node, x, y))
		return false;
	visible_add(&found, &c->backward, c->pos.node);
	visible_add(&found, &c->forward, c->pos.node);
	by_limit = find_by_limit(g, env, c->pos.node, loop, x, y, ret);
	if (by_limit)
		return by_limit == 1 &&
		       (is_same(ret, &found.last) || found.n != 1 || !limits_agree(g, loop, env, found.last.method_id));
	*ret = found.last;
	/* Intrinsics may replace native methods by loops, which no record names. */
	return found.n == 1 && method_of(env, ret->method_id) && method_of(env, ret->method_id)->code_size > 0;
}
