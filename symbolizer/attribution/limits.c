#include "symbolizer/attribution/limits.h"

#include "symbolizer/attribution/decode/bytecodes.h"

enum {
	LIMITS_MAX = 8, /* of one method */
	LIMIT_LEAST = 256,
	SHORT_MAX = 1024, /* unrolled 16 times, with vectors of 64 elements */
};

struct limits {
	struct {
		int32_t bci, value;
		bool of_loop;
	} v[LIMITS_MAX];
	unsigned n;
};

static void note_limit(struct limits *l, int32_t bci, int32_t value)
{
	if (value < LIMIT_LEAST || l->n == LIMITS_MAX)
		return;
	l->v[l->n].bci = bci;
	l->v[l->n].value = value;
	l->v[l->n++].of_loop = false;
}

/* Comparisons between a backward branch and its target decide how long the loop runs. */
static void note_loop(struct limits *l, const struct bytecode *b)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->v[i].bci >= b->target)
			l->v[i].of_loop = true;
}

static void find_limits(const struct hs_method *m, int major, struct limits *ret)
{
	struct bytecode b, before = {0};

	ret->n = 0;
	for (int32_t bci = 0; bytecode_at(m, major, bci, &b); bci += (int32_t)b.len) {
		if (bytecode_orders_ints(&b) && bytecode_pushes_constant(&before))
			note_limit(ret, bci, before.constant);
		if (b.kind == BYTECODE_BRANCH && b.target <= bci)
			note_loop(ret, &b);
		before = b;
	}
}

static bool ends_at(const struct loop *l, int32_t limit)
{
	int32_t slack = limit / 8 < SHORT_MAX ? limit / 8 : SHORT_MAX;

	for (unsigned i = 0; i < l->n_limits; i++)
		if (l->limits[i] <= limit && l->limits[i] >= limit - slack)
			return true;
	return false;
}

static bool has_limits(const struct graph *g, int32_t loop)
{
	for (uint32_t k = (uint32_t)loop; k <= g->loops[loop].last; k++)
		if (g->loops[k].n_limits)
			return true;
	return false;
}

bool limits_agree(const struct graph *g, int32_t loop, const struct attribution_env *env, uint32_t method_id)
{
	const struct hs_method *m = method_id && env->method ? env->method(env->ctx, method_id) : NULL;
	struct limits limits;

	if (!m || !m->bytecodes || !has_limits(g, loop))
		return false;
	find_limits(m, env->major, &limits);
	for (unsigned i = 0; i < limits.n; i++)
		for (uint32_t k = (uint32_t)loop; limits.v[i].of_loop && k <= g->loops[loop].last; k++)
			if (ends_at(&g->loops[k], limits.v[i].value))
				return true;
	return false;
}
