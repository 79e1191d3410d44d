#include "symbolizer/attribution/graph_build.h"

#include <errno.h>
#include <stdlib.h>

#include "symbolizer/attribution/decode/bytecodes.h"
#include "symbolizer/base/sorted.h"

/* A longer straight run of instructions is not a cold stub. */
enum { SIDE_MAX = 60 };

/* Limits the calls followed through callees that begin with a call. */
enum { STEP_MAX = 4 };

struct placing {
	struct graph_build *b;
	bool oom;
};

static void place(struct placing *p, struct build_insn *in, struct inline_pos pos, enum evidence_kind kind,
		  enum trap_kind trap)
{
	struct evidence e = {.pos = pos, .after = pos, .kind = (uint8_t)kind, .trap = (uint8_t)trap};

	if (in->evidence >= 0)
		return;
	if (!vec_push(&p->b->evidence, e)) {
		p->oom = true;
		return;
	}
	in->evidence = (int32_t)p->b->evidence.n - 1;
	in->flags |= INSN_EVIDENCE;
}

static void site_add(struct placing *p, int32_t node, int32_t bci)
{
	if (!vec_push(&p->b->sites, site_of_pos((struct inline_pos){node, bci})))
		p->oom = true;
}

/* The call that ends at this code offset. */
static struct build_insn *call_before(const struct graph_build *b, int64_t off)
{
	int64_t start = off - 1;
	struct build_insn *in;
	int32_t i;

	while (start > 0 && start < b->code->n_bytes && b->at[start] == AT_INSIDE)
		start--;
	i = build_insn_at(b, start);
	in = i >= 0 ? &b->insns[i] : NULL;
	return in && in->off + in->len == off && (in->class == INSN_CALL || in->class == INSN_CALL_INDIRECT) ? in :
													       NULL;
}

/* The record of a call has the offset of the return address, that of a poll its own offset. */
static struct build_insn *insn_of_record(const struct graph_build *b, int32_t off, enum evidence_kind *ret_kind)
{
	struct build_insn *call = call_before(b, off);
	int32_t i = build_insn_at(b, off);

	*ret_kind = call ? EVIDENCE_CALL : EVIDENCE_POLL;
	if (call)
		return call;
	return i >= 0 ? &b->insns[i] : NULL;
}

static int place_records(struct placing *p)
{
	const struct code *c = p->b->code;
	struct code_scope scopes[CODE_MAX_SCOPES];
	enum evidence_kind kind;

	for (uint32_t i = 0; i < c->n_records; i++) {
		const struct code_record *r = &c->records[i];
		struct build_insn *in;
		struct inline_pos pos;
		size_t n;
		int e;

		if (!r->safepoint)
			continue;
		n = code_scopes_at(c, p->b->env->major, r->scope_offset, scopes, CODE_MAX_SCOPES);
		e = inline_tree_add(&p->b->tree, scopes, n, &pos);
		if (e == -EINVAL)
			continue;
		if (e)
			return e;
		site_add(p, pos.node, pos.bci);
		in = insn_of_record(p->b, r->pc_offset, &kind);
		if (!in) {
			p->b->damaged = true;
			continue;
		}
		in->flags |= BUILD_RECORD;
		place(p, in, pos, kind, TRAP_OF_CHECK);
	}
	return 0;
}

struct side {
	int32_t evidence; /* -1: it does not lead straight to a cold call */
	enum evidence_kind kind;
	enum trap_kind trap;
};

static enum trap_kind trap_of(const struct attribution_env *env, const struct build_insn *argument)
{
	return argument && env->trap ? env->trap(env->ctx, argument->target) : TRAP_OF_CHECK;
}

/* Does one side of a branch lead only to the call of an uncommon trap or of a slow path? */
static struct side side_of(const struct graph_build *b, int32_t i)
{
	struct side none = {.evidence = -1};
	const struct build_insn *argument = NULL;

	for (int steps = 0; i >= 0 && steps < SIDE_MAX; steps++) {
		const struct build_insn *in = &b->insns[i];

		if (in->flags & BUILD_ARGUMENT)
			argument = in;
		if (in->class == INSN_CALL && in->flags & BUILD_RECORD) {
			if (in->role == ROLE_UNCOMMON_TRAP)
				return (struct side){in->evidence, EVIDENCE_TRAP, trap_of(b->env, argument)};
			if (in->role == ROLE_RUNTIME)
				return (struct side){in->evidence, EVIDENCE_SLOW, TRAP_OF_CHECK};
			return none;
		}
		if (in->flags & BUILD_RECORD)
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
	struct graph_build *b = p->b;
	struct build_insn *in = &b->insns[i];
	struct side s;

	if ((in->flags & (INSN_FALLS | INSN_TAKEN)) != (INSN_FALLS | INSN_TAKEN))
		return;
	s = side_of(b, in->target);
	if (s.evidence >= 0) {
		place(p, in, b->evidence.v[s.evidence].pos, s.kind, s.trap);
		in->flags &= (uint16_t)~INSN_TAKEN;
		return;
	}
	s = side_of(b, i + 1);
	if (s.evidence >= 0 && s.kind == EVIDENCE_TRAP) {
		place(p, in, b->evidence.v[s.evidence].pos, EVIDENCE_TRAP, s.trap);
		in->flags &= (uint16_t)~INSN_FALLS;
	}
}

static void place_null_checks(struct placing *p)
{
	struct graph_build *b = p->b;
	const struct code *c = b->code;

	for (uint32_t k = 0; k < c->n_null_checks; k++) {
		int32_t i = build_insn_at(b, c->null_checks[k].from);
		struct side s = side_of(b, build_insn_at(b, c->null_checks[k].to));

		if (i >= 0 && s.evidence >= 0)
			place(p, &b->insns[i], b->evidence.v[s.evidence].pos, EVIDENCE_NULL, s.trap);
	}
}

static void mark_reached(const struct graph_build *b, uint8_t *reached)
{
	for (uint32_t i = 0; i < b->n_insns; i++) {
		if (b->insns[i].flags & (INSN_ENTRY | BUILD_ROOT))
			reached[i] = 1;
		for_each_successor(s, b, i, 0)
			reached[s] = 1;
	}
}

/* Indirect jumps without a known table are assumed to go to every block to which nothing else leads (table 0). */
static int link_orphans(struct graph_build *b)
{
	struct jump_table *orphans = &b->tables.v[0];
	bool oom = false;
	uint8_t *reached;

	if (!b->unknown_table)
		return 0;
	reached = calloc(b->n_insns, 1);
	if (!reached)
		return -ENOMEM;
	mark_reached(b, reached);
	orphans->first = (uint32_t)b->table_targets.n;
	for (uint32_t i = 0; i < b->n_insns && orphans->n < GRAPH_MAX_TARGETS && !oom; i++) {
		if (reached[i] || side_of(b, (int32_t)i).kind == EVIDENCE_TRAP)
			continue;
		oom = !vec_push(&b->table_targets, i);
		orphans->n++;
	}
	free(reached);
	return oom ? -ENOMEM : 0;
}

static int site_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return ascending(x, y);
}

static void add_call_sites(struct placing *p)
{
	const struct inline_tree *t = &p->b->tree;

	for (uint32_t i = 1; i < t->nodes.n; i++)
		site_add(p, t->nodes.v[i].parent, t->nodes.v[i].call_bci);
}

static void sort_sites(struct graph_build *b)
{
	size_t n = 0;

	if (b->sites.n)
		qsort(b->sites.v, b->sites.n, sizeof(*b->sites.v), site_compare);
	for (size_t i = 0; i < b->sites.n; i++)
		if (n == 0 || b->sites.v[n - 1] != b->sites.v[i])
			b->sites.v[n++] = b->sites.v[i];
	b->sites.n = n;
}

struct child {
	uint64_t key; /* site_of_pos() of the call in the parent node */
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
			site_of_pos((struct inline_pos){t->nodes.v[i].parent, t->nodes.v[i].call_bci}), (int32_t)i};
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
	struct inline_tree *t = &c->p->b->tree;
	struct child key = {.key = site_of_pos(at)};
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
		if (!first_access(env, c->p->b->tree.nodes.v[node].method_id, &b))
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

	if (p->b->c1)
		return 0;
	r = sort_children(&p->b->tree, &c.children, &c.n);
	for (size_t i = 0; r == 0 && i < p->b->evidence.n; i++) {
		struct evidence *e = &p->b->evidence.v[i];

		if ((e->kind == EVIDENCE_NULL || e->kind == EVIDENCE_TRAP) &&
		    is_call(p->b->env, p->b->tree.nodes.v[e->pos.node].method_id, e->pos.bci))
			step_into(&c, e);
	}
	if (r == 0)
		free(c.children);
	return r;
}

int build_place_evidence(struct graph_build *b)
{
	struct placing p = {.b = b};
	int r = place_records(&p);

	if (r == 0)
		r = link_orphans(b);
	if (r == 0) {
		for (uint32_t i = 0; i < b->n_insns; i++)
			if (b->insns[i].class == INSN_JCC)
				place_branch(&p, (int32_t)i);
		place_null_checks(&p);
		add_call_sites(&p);
		r = find_callees(&p);
	}
	sort_sites(b);
	return r == 0 && p.oom ? -ENOMEM : r;
}
