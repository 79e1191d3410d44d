#include "symbolizer/attribution/graph_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/attribution/address_rule.h"
#include "symbolizer/base/vec.h"

/* A straight line longer than this is no cold stub. */
enum { SIDE_MAX = 60 };

struct placing {
	struct graph_build *b;
	VEC(struct evidence) evidence;
	VEC(uint64_t) sites;
	bool oom;
};

static void place(struct placing *p, struct insn *in, struct inline_pos pos, enum evidence_kind kind)
{
	if (in->evidence >= 0)
		return;
	in->evidence = (int32_t)p->evidence.n;
	if (!vec_push(&p->evidence, ((struct evidence){.pos = pos, .kind = (uint8_t)kind})))
		p->oom = true;
}

static void site_add(struct placing *p, int32_t node, int32_t bci)
{
	if (!vec_push(&p->sites, (uint64_t)(uint32_t)node << 32 | (uint32_t)bci))
		p->oom = true;
}

/* The record of a call has the offset of its return address, that of a poll the poll's own. */
static struct insn *insn_of_record(const struct graph_build *b, int32_t off,
				   enum evidence_kind *ret_kind)
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
		struct insn *in;
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
		if (!in)
			continue;
		in->flags |= INSN_RECORD;
		place(p, in, pos, kind);
	}
	return 0;
}

struct side {
	int32_t evidence; /* -1: leads to no cold call in a straight line */
	enum evidence_kind kind;
};

/* Where a branch leads: to the call of an uncommon trap or of a slow path, and nothing else? */
static struct side side_of(const struct graph *g, int32_t i)
{
	struct side none = {.evidence = -1};

	for (int steps = 0; i >= 0 && steps < SIDE_MAX; steps++) {
		const struct insn *in = &g->insns[i];

		if (in->class == INSN_CALL && in->flags & INSN_RECORD) {
			if (in->role == ROLE_UNCOMMON_TRAP)
				return (struct side){in->evidence, EVIDENCE_TRAP};
			if (in->role == ROLE_RUNTIME)
				return (struct side){in->evidence, EVIDENCE_SLOW};
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
	struct insn *in = &g->insns[i];
	struct side s;

	if ((in->flags & (INSN_FALLS | INSN_TAKEN)) != (INSN_FALLS | INSN_TAKEN))
		return;
	s = side_of(g, in->target);
	if (s.evidence >= 0) {
		place(p, in, p->evidence.v[s.evidence].pos, s.kind);
		in->flags &= (uint8_t)~INSN_TAKEN;
		return;
	}
	s = side_of(g, i + 1);
	if (s.evidence >= 0 && s.kind == EVIDENCE_TRAP) {
		place(p, in, p->evidence.v[s.evidence].pos, EVIDENCE_TRAP);
		in->flags &= (uint8_t)~INSN_FALLS;
	}
}

static void place_null_checks(struct placing *p)
{
	const struct code *c = p->b->code;

	for (uint32_t k = 0; k < c->n_null_checks; k++) {
		int32_t i = build_insn_at(p->b, c->null_checks[k].from);
		struct side s = side_of(p->b->g, build_insn_at(p->b, c->null_checks[k].to));

		if (i >= 0 && s.evidence >= 0)
			place(p, &p->b->g->insns[i], p->evidence.v[s.evidence].pos, EVIDENCE_NULL);
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
		for (uint32_t k = 0;; k++) {
			int32_t s = graph_successor(g, i, k);

			if (s == -2)
				break;
			if (s >= 0)
				reached[s] = 1;
		}
	}
}

/* Blocks that nothing leads to are what indirect jumps without a known table go to (table 0). */
static int link_orphans(struct graph *g)
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
		if (!reached[i] && side_of(g, (int32_t)i).kind != EVIDENCE_TRAP)
			targets[n++] = i;
	g->tables[0].n = n - g->tables[0].first;
	g->n_table_targets = n;
	free(reached);
	return 0;
}

static int site_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int finish(struct placing *p)
{
	struct graph *g = p->b->g;

	for (uint32_t i = 1; i < g->tree.n; i++)
		site_add(p, g->tree.nodes[i].parent, g->tree.nodes[i].call_bci);
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

int graph_place_evidence(struct graph_build *b)
{
	struct placing p = {.b = b};
	int r = place_records(&p);

	if (r == 0)
		r = link_orphans(b->g);
	if (r == 0) {
		for (uint32_t i = 0; i < b->g->n_insns; i++)
			if (b->g->insns[i].class == INSN_JCC)
				place_branch(&p, (int32_t)i);
		place_null_checks(&p);
		r = finish(&p);
	}
	vec_done(&p.evidence);
	vec_done(&p.sites);
	return r;
}

bool graph_has_site(const struct graph *g, int32_t node, int32_t bci)
{
	uint64_t key = (uint64_t)(uint32_t)node << 32 | (uint32_t)bci;

	return g->n_sites && bsearch(&key, g->sites, g->n_sites, sizeof(key), site_compare);
}
