#include "symbolizer/attribution/graph_build.h"

#include <errno.h>
#include <stdlib.h>

#include "symbolizer/attribution/decode/bytecodes.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/base/vec.h"

/* A longer straight run of instructions is not a cold stub. */
enum { SIDE_MAX = 60 };

/* Limits the calls followed through callees that begin with a call. */
enum { STEP_MAX = 4 };

struct placing {
	struct graph_build *b;
	VEC(struct evidence) evidence;
	VEC(uint64_t) sites;
	bool oom;
};

static void place(struct placing *p, struct graph_insn *in, struct inline_pos pos, enum evidence_kind kind,
		  enum trap_kind trap)
{
	struct evidence e = {.pos = pos, .after = pos, .kind = (uint8_t)kind, .trap = (uint8_t)trap};

	if (in->evidence >= 0)
		return;
	in->evidence = (int32_t)p->evidence.n;
	if (!vec_push(&p->evidence, e))
		p->oom = true;
}

static void site_add(struct placing *p, int32_t node, int32_t bci)
{
	if (!vec_push(&p->sites, (uint64_t)(uint32_t)node << 32 | (uint32_t)bci))
		p->oom = true;
}

/* The record of a call has the offset of the return address, that of a poll its own offset. */
static struct graph_insn *insn_of_record(const struct graph_build *b, int32_t off, enum evidence_kind *ret_kind)
{
	struct graph *g = b->g;
	int32_t i = graph_find(g, off > 0 ? (uint32_t)off - 1 : 0);

	if (i >= 0 && g->insns[i].off + g->insns[i].len == (uint32_t)off &&
	    (g->insns[i].class == INSN_CALL || g->insns[i].class == INSN_CALL_INDIRECT)) {
		*ret_kind = EVIDENCE_CALL;
		return &g->insns[i];
	}
	*ret_kind = EVIDENCE_POLL;
	i = build_insn_at(b, off);
	return i >= 0 ? &g->insns[i] : NULL;
}

static int place_records(struct placing *p)
{
	const struct code *c = p->b->code;
	struct code_scope scopes[CODE_MAX_SCOPES];
	enum evidence_kind kind;

	for (uint32_t i = 0; i < c->n_records; i++) {
		const struct code_record *r = &c->records[i];
		struct graph_insn *in;
		struct inline_pos pos;
		size_t n;
		int e;

		if (!r->safepoint)
			continue;
		n = code_scopes_at(c, p->b->env->major, r->scope_offset, scopes, CODE_MAX_SCOPES);
		e = inline_tree_add(&p->b->g->tree, scopes, n, &pos);
		if (e == -EINVAL)
			continue;
		if (e)
			return e;
		site_add(p, pos.node, pos.bci);
		in = insn_of_record(p->b, r->pc_offset, &kind);
		if (!in) {
			p->b->g->damaged = true;
			continue;
		}
		in->flags |= INSN_RECORD;
		place(p, in, pos, kind, TRAP_OF_CHECK);
	}
	return 0;
}

struct side {
	int32_t evidence; /* -1: it does not lead straight to a cold call */
	enum evidence_kind kind;
	enum trap_kind trap;
};

static enum trap_kind trap_of(const struct attribution_env *env, const struct graph_insn *argument)
{
	return argument && env->trap ? env->trap(env->ctx, argument->target) : TRAP_OF_CHECK;
}

/* Does one side of a branch lead only to the call of an uncommon trap or of a slow path? */
static struct side side_of(const struct graph *g, const struct attribution_env *env, int32_t i)
{
	struct side none = {.evidence = -1};
	const struct graph_insn *argument = NULL;

	for (int steps = 0; i >= 0 && steps < SIDE_MAX; steps++) {
		const struct graph_insn *in = &g->insns[i];

		if (in->flags & INSN_ARGUMENT)
			argument = in;
		if (in->class == INSN_CALL && in->flags & INSN_RECORD) {
			if (in->role == ROLE_UNCOMMON_TRAP)
				return (struct side){in->evidence, EVIDENCE_TRAP, trap_of(env, argument)};
			if (in->role == ROLE_RUNTIME)
				return (struct side){in->evidence, EVIDENCE_SLOW, TRAP_OF_CHECK};
			return none;
		}
		if (in->flags & INSN_RECORD)
			return none;
		if (in->class == INSN_JMP)
			i = in->target;
		else if (in->class == INSN_OTHER && in->flags & INSN_FALLS)
			i++;
		else
			return none;
	}
	return none;
}

static void place_branch(struct placing *p, int32_t i)
{
	struct graph *g = p->b->g;
	struct graph_insn *in = &g->insns[i];
	struct side s;

	if ((in->flags & (INSN_FALLS | INSN_TAKEN)) != (INSN_FALLS | INSN_TAKEN))
		return;
	s = side_of(g, p->b->env, in->target);
	if (s.evidence >= 0) {
		place(p, in, p->evidence.v[s.evidence].pos, s.kind, s.trap);
		in->flags &= (uint8_t)~INSN_TAKEN;
		return;
	}
	s = side_of(g, p->b->env, i + 1);
	if (s.evidence >= 0 && s.kind == EVIDENCE_TRAP) {
		place(p, in, p->evidence.v[s.evidence].pos, EVIDENCE_TRAP, s.trap);
		in->flags &= (uint8_t)~INSN_FALLS;
	}
}

static void place_null_checks(struct placing *p)
{
	const struct code *c = p->b->code;

	for (uint32_t k = 0; k < c->n_null_checks; k++) {
		int32_t i = build_insn_at(p->b, c->null_checks[k].from);
		struct side s = side_of(p->b->g, p->b->env, build_insn_at(p->b, c->null_checks[k].to));

		if (i >= 0 && s.evidence >= 0)
			place(p, &p->b->g->insns[i], p->evidence.v[s.evidence].pos, EVIDENCE_NULL, s.trap);
	}
}

static bool has_unknown_table(const struct graph *g)
{
	for (uint32_t i = 0; i < g->n_insns; i++)
		if (g->insns[i].class == INSN_JMP_INDIRECT && g->insns[i].target == 0)
			return true;
	return false;
}

static void mark_reached(const struct graph *g, uint8_t *reached)
{
	for (uint32_t i = 0; i < g->n_insns; i++) {
		if (g->insns[i].flags & (INSN_ENTRY | INSN_ROOT))
			reached[i] = 1;
		for_each_successor(s, g, i)
			reached[s] = 1;
	}
}

/* Indirect jumps without a known table are assumed to go to every block to which nothing else leads (table 0). */
static int link_orphans(struct graph *g, const struct attribution_env *env)
{
	uint8_t *reached;
	uint32_t *targets, n = g->n_table_targets;

	if (!has_unknown_table(g))
		return 0;
	reached = calloc(g->n_insns, 1);
	targets = realloc(g->table_targets, (n + (size_t)GRAPH_MAX_TARGETS) * sizeof(*targets));
	if (targets)
		g->table_targets = targets;
	if (!reached || !targets) {
		free(reached);
		return -ENOMEM;
	}
	mark_reached(g, reached);
	g->tables[0].first = n;
	for (uint32_t i = 0; i < g->n_insns && n - g->tables[0].first < GRAPH_MAX_TARGETS; i++)
		if (!reached[i] && side_of(g, env, (int32_t)i).kind != EVIDENCE_TRAP)
			targets[n++] = i;
	g->tables[0].n = n - g->tables[0].first;
	g->n_table_targets = n;
	free(reached);
	return 0;
}

static int site_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return ascending(x, y);
}

static void add_call_sites(struct placing *p)
{
	const struct inline_tree *t = &p->b->g->tree;

	for (uint32_t i = 1; i < t->nodes.n; i++)
		site_add(p, t->nodes.v[i].parent, t->nodes.v[i].call_bci);
}

static int finish(struct placing *p)
{
	struct graph *g = p->b->g;

	if (p->oom)
		return -ENOMEM;
	if (p->sites.n)
		qsort(p->sites.v, p->sites.n, sizeof(*p->sites.v), site_compare);
	g->sites = p->sites.v;
	g->n_sites = (uint32_t)p->sites.n;
	g->evidence = p->evidence.v;
	g->n_evidence = (uint32_t)p->evidence.n;
	p->sites.v = NULL;
	p->evidence.v = NULL;
	return 0;
}

struct child {
	uint64_t key; /* parent node << 32 | bci of the call */
	int32_t node; /* -1: several methods are inlined there */
};

static int child_compare(const void *a, const void *b)
{
	const struct child *x = a, *y = b;

	return ascending(x->key, y->key);
}

/* Sorts nodes by where they are called from; the caller frees *ret. */
static int sort_children(const struct inline_tree *t, struct child **ret, uint32_t *ret_n)
{
	struct child *c = malloc((t->nodes.n + (size_t)1) * sizeof(*c));
	uint32_t n = 0;

	if (!c)
		return -ENOMEM;
	for (uint32_t i = 1; i < t->nodes.n; i++)
		c[i - 1] = (struct child){
			(uint64_t)(uint32_t)t->nodes.v[i].parent << 32 | (uint32_t)t->nodes.v[i].call_bci, (int32_t)i};
	qsort(c, t->nodes.n - 1, sizeof(*c), child_compare);
	for (uint32_t i = 0; i + 1 < t->nodes.n; i++) {
		if (n > 0 && c[n - 1].key == c[i].key)
			c[n - 1].node = -1;
		else
			c[n++] = c[i];
	}
	*ret = c;
	*ret_n = n;
	return 0;
}

/* Is there a call with a receiver at bci? */
static bool is_call(const struct attribution_env *env, uint32_t method_id, int32_t bci)
{
	const struct hs_method *m = env->method ? env->method(env->ctx, method_id) : NULL;
	struct bytecode b;

	return m && bytecode_at(m, env->major, bci, &b) && b.kind == BYTECODE_INVOKE && !bytecode_is_static_call(&b);
}

struct callees {
	struct placing *p;
	struct child *children;
	uint32_t n;
};

static bool has_bytecodes(const struct attribution_env *env, uint32_t method_id)
{
	const struct hs_method *m = method_id ? env->method(env->ctx, method_id) : NULL;

	return m && m->bytecodes && m->code_size > 0;
}

/* The callee at a position: the method inlined there, or the only possible one; -1: unknown. */
static int32_t callee_of(const struct callees *c, struct inline_pos at)
{
	const struct attribution_env *env = c->p->b->env;
	struct inline_tree *t = &c->p->b->g->tree;
	struct child key = {.key = (uint64_t)(uint32_t)at.node << 32 | (uint32_t)at.bci};
	const struct child *known = bsearch(&key, c->children, c->n, sizeof(key), child_compare);
	uint32_t method;

	if (known)
		return known->node;
	method = env->callee ? env->callee(env->ctx, t->nodes.v[at.node].method_id, at.bci) : 0;
	/* A native method can be replaced by an intrinsic, but not inlined. */
	return has_bytecodes(env, method) ? inline_tree_child(t, at.node, at.bci, method) : -1;
}

/* Finds the first bytecode of a method that may access an object; false: a branch comes first. */
static bool first_access(const struct attribution_env *env, uint32_t method_id, struct bytecode *ret)
{
	const struct hs_method *m = env->method(env->ctx, method_id);

	for (int32_t bci = 0; m && bytecode_at(m, env->major, bci, ret); bci += (int32_t)ret->len) {
		if (ret->kind == BYTECODE_BRANCH)
			return false;
		if (ret->kind != BYTECODE_OTHER || bytecode_reads_object(ret))
			return true;
	}
	return false;
}

/*
 * C2 checks the receiver of a call with the state before the call. The callee follows, or the callee's callee, if the
 * callee does nothing but call that.
 */
static void step_into(const struct callees *c, struct evidence *e)
{
	const struct attribution_env *env = c->p->b->env;

	e->at_call = true;
	for (int depth = 0; depth < STEP_MAX; depth++) {
		int32_t node = callee_of(c, e->after);
		struct bytecode b;

		if (node < 0)
			return;
		e->after = (struct inline_pos){.node = node, .bci = -1};
		if (!first_access(env, c->p->b->g->tree.nodes.v[node].method_id, &b))
			return;
		e->after.bci = b.bci;
		if (b.kind == BYTECODE_OTHER)
			return;
	}
}

static int find_callees(struct placing *p)
{
	struct callees c = {.p = p};
	int r;

	if (p->b->g->c1)
		return 0;
	r = sort_children(&p->b->g->tree, &c.children, &c.n);
	for (size_t i = 0; r == 0 && i < p->evidence.n; i++) {
		struct evidence *e = &p->evidence.v[i];

		if ((e->kind == EVIDENCE_NULL || e->kind == EVIDENCE_TRAP) &&
		    is_call(p->b->env, p->b->g->tree.nodes.v[e->pos.node].method_id, e->pos.bci))
			step_into(&c, e);
	}
	if (r == 0)
		free(c.children);
	return r;
}

int graph_place_evidence(struct graph_build *b)
{
	struct placing p = {.b = b};
	int r = place_records(&p);

	if (r == 0)
		r = link_orphans(b->g, b->env);
	if (r == 0) {
		for (uint32_t i = 0; i < b->g->n_insns; i++)
			if (b->g->insns[i].class == INSN_JCC)
				place_branch(&p, (int32_t)i);
		place_null_checks(&p);
		add_call_sites(&p);
		r = find_callees(&p);
	}
	if (r == 0)
		r = finish(&p);
	vec_done(&p.evidence);
	vec_done(&p.sites);
	return r;
}

bool graph_has_site(const struct graph *g, int32_t node, int32_t bci)
{
	uint64_t key = (uint64_t)(uint32_t)node << 32 | (uint32_t)bci;

	return g->n_sites && bsearch(&key, g->sites, g->n_sites, sizeof(key), site_compare);
}
