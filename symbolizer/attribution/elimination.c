#include "symbolizer/attribution/elimination.h"

#include "symbolizer/attribution/bytecodes.h"

enum {
	MAX_BYTECODES = 65536,
	LOOP_DEPTH = 3, /* calls to follow in search of a loop */
	LOOP_METHODS = 64, /* methods to look at in one search */
};

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

struct loop_search {
	const struct attribution_env *env;
	unsigned methods; /* looked at */
};

enum loop_answer { LOOP_NO, LOOP_YES, LOOP_UNKNOWN };

static enum loop_answer method_loops(struct loop_search *s, uint32_t id, unsigned depth)
{
	const struct hs_method *m = method_of(s->env, id);
	enum loop_answer answer = LOOP_NO;
	struct bytecode b;

	if (!m || s->methods++ >= LOOP_METHODS)
		return LOOP_UNKNOWN;
	for (int32_t bci = 0; bci < m->code_size; bci += (int32_t)b.len) {
		if (!bytecode_at(m, s->env->major, bci, &b))
			return LOOP_UNKNOWN;
		if (b.kind == BYTECODE_BRANCH && b.target <= bci)
			return LOOP_YES;
		if (b.kind != BYTECODE_INVOKE && b.kind != BYTECODE_INVOKEDYNAMIC)
			continue;
		if (depth >= LOOP_DEPTH || b.kind == BYTECODE_INVOKEDYNAMIC || !s->env->callee)
			answer = LOOP_UNKNOWN;
		else if (method_loops(s, s->env->callee(s->env->ctx, id, bci), depth + 1) !=
			 LOOP_NO)
			answer = LOOP_UNKNOWN;
	}
	return answer;
}

bool find_hidden_callee(const struct graph *g, const struct attribution_env *env,
			const struct choice *c, struct hidden_callee *ret)
{
	uint32_t id = g->tree.nodes[c->pos.node].method_id;
	const struct hs_method *m = method_of(env, id);
	struct bytecode b;
	int32_t x, y, found = 0;

	if (!m || !env->callee || !c->forward.found || !c->backward.found)
		return false;
	range_of(g, c, &x, &y);
	for (int32_t bci = 0; bci < m->code_size && bci < y; bci += (int32_t)b.len) {
		struct loop_search s = {.env = env};
		uint32_t callee;

		if (!bytecode_at(m, env->major, bci, &b))
			return false;
		/* A loop of the method's own that lies between the two ends. */
		if (bci > x && b.kind == BYTECODE_BRANCH && b.target <= bci && b.target >= x)
			return false;
		if (bci <= x || graph_has_site(g, c->pos.node, bci))
			continue;
		if (b.kind == BYTECODE_INVOKEDYNAMIC)
			return false;
		if (b.kind != BYTECODE_INVOKE)
			continue;
		callee = env->callee(env->ctx, id, bci);
		if (callee && method_loops(&s, callee, 0) == LOOP_NO)
			continue;
		if (!callee || found++)
			return false;
		*ret = (struct hidden_callee){.call_bci = bci, .method_id = callee};
	}
	return found == 1;
}
