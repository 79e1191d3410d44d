#include "tests/integration/attribution_reference.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/attribution/address_rule.h"

enum { AGREED_SITES = 2, DIFFERING_SITES = 4 };

struct full_record {
	struct inline_pos pos; /* node -1: garbage */
	bool removed;
};

struct reference {
	const struct code *code;
	int major;
	const struct graph *g;
	const struct decoder *decoder;
	bool raw;
	struct inline_tree tree; /* of all records */
	struct full_record *records;
	uint32_t removed;
};

/* Is `x` at another call site than the evidence: neither below it nor where it was called from? */
static bool contradicts(const struct inline_tree *t, struct inline_pos x, struct inline_pos evidence)
{
	int32_t common = inline_tree_ancestor(t, x.node, evidence.node);

	if (common == evidence.node)
		return false;
	return common != x.node || inline_tree_bci_in(t, evidence, common) != x.bci;
}

/* A position of the graph's tree in this one; node -1: out of memory. */
static struct inline_pos pos_of(struct reference *r, struct inline_pos pos)
{
	struct code_scope scopes[CODE_MAX_SCOPES];
	size_t n = inline_tree_scopes(&r->g->tree, pos, scopes, CODE_MAX_SCOPES);
	struct inline_pos ret;

	if (inline_tree_add(&r->tree, scopes, n, &ret))
		ret.node = -1;
	return ret;
}

enum verdict { FINE, AGAINST_AGREED, AGAINST_BOTH };

/* Of a record at a branch to a trap or a slow path: that one's record is what the JVM would go on with. */
static enum verdict judge_own(struct reference *r, const struct evidence *e, struct inline_pos own)
{
	struct inline_pos pos;

	if ((e->kind != EVIDENCE_TRAP && e->kind != EVIDENCE_SLOW) || e->trap == TRAP_OF_LOOP)
		return FINE;
	pos = pos_of(r, e->pos);
	return pos.node >= 0 && contradicts(&r->tree, own, pos) ? AGAINST_AGREED : FINE;
}

static enum verdict judge(struct reference *r, struct choice_scratch *s, uint32_t i)
{
	const struct code_record *rec = &r->code->records[i];
	int32_t insn = rec->pc_offset > 0 ? graph_find(r->g, (uint32_t)rec->pc_offset - 1) : -1;
	struct choice c;
	struct inline_pos f, b, own = r->records[i].pos;

	if (insn < 0 || choose(r->g, s, (uint32_t)insn, &c))
		return FINE;
	if (c.is_evidence)
		return judge_own(r, &c.own, own);
	if (!c.forward.found || !c.backward.found || c.forward.pseudo || c.backward.pseudo)
		return FINE;
	f = pos_of(r, c.forward.pos);
	b = pos_of(r, c.backward.pos);
	if (f.node < 0 || b.node < 0 || !contradicts(&r->tree, own, f) || !contradicts(&r->tree, own, b))
		return FINE;
	return f.node == b.node ? AGAINST_AGREED : AGAINST_BOTH;
}

static bool same_scope(const struct full_record *a, const struct full_record *b)
{
	return a->pos.node == b->pos.node && a->pos.bci == b->pos.bci;
}

static int clean(struct reference *r)
{
	uint32_t n = r->code->n_records;
	enum verdict *verdicts = calloc(n + 1, sizeof(*verdicts));
	struct choice_scratch s = {0};

	if (!verdicts)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (!r->code->records[i].safepoint && r->records[i].pos.node >= 0)
			verdicts[i] = judge(r, &s, i);
	for (uint32_t i = 0; i < n; i++) {
		unsigned agreed = 0, differing = 0;

		if (r->code->records[i].safepoint || r->records[i].removed)
			continue;
		for (uint32_t k = 0; k < n; k++)
			if (!r->code->records[k].safepoint && same_scope(&r->records[i], &r->records[k])) {
				agreed += verdicts[k] == AGAINST_AGREED;
				differing += verdicts[k] == AGAINST_BOTH;
			}
		if (agreed < AGREED_SITES && differing < DIFFERING_SITES)
			continue;
		for (uint32_t k = i; k < n; k++)
			if (!r->code->records[k].safepoint && same_scope(&r->records[i], &r->records[k]))
				r->records[k].removed = true;
	}
	for (uint32_t i = 0; i < n; i++)
		r->removed += r->records[i].removed;
	choice_scratch_done(&s);
	free(verdicts);
	return 0;
}

int reference_new(const struct code *full, int major, const struct graph *g, const struct decoder *d, bool raw,
		  struct reference **ret)
{
	struct reference *r = calloc(1, sizeof(*r));
	struct code_scope scopes[CODE_MAX_SCOPES];

	if (!r)
		return -ENOMEM;
	r->code = full;
	r->major = major;
	r->g = g;
	r->decoder = d;
	r->raw = raw || full->tier != TIER_C2;
	r->records = calloc(full->n_records + 1, sizeof(*r->records));
	if (!r->records || inline_tree_init(&r->tree, full->method_id)) {
		reference_free(r);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < full->n_records; i++) {
		size_t n = code_scopes_at(full, major, full->records[i].scope_offset, scopes, CODE_MAX_SCOPES);

		if (inline_tree_add(&r->tree, scopes, n, &r->records[i].pos))
			r->records[i].pos.node = -1;
	}
	if (!r->raw && clean(r)) {
		reference_free(r);
		return -ENOMEM;
	}
	*ret = r;
	return 0;
}

void reference_free(struct reference *r)
{
	if (!r)
		return;
	inline_tree_done(&r->tree);
	free(r->records);
	free(r);
}

uint32_t reference_removed(const struct reference *r)
{
	return r->removed;
}

/* Does control run from pc to the offset `end` without a branch? */
static bool straight(const struct graph *g, int64_t pc, int32_t end)
{
	int32_t i = graph_find(g, (uint32_t)pc);

	for (; i >= 0 && (uint32_t)i < g->n_insns && graph_offset(g, (uint32_t)i) < (uint32_t)end; i++)
		if (!(g->insns[i].flags & INSN_FALLS) || g->insns[i].class == INSN_JCC)
			return false;
	return true;
}

static bool is_frame_copy(const struct reference *r, uint32_t i)
{
	const struct graph_insn *in = &r->g->insns[i];
	struct decoded x;

	return in->class == INSN_OTHER && !(in->flags & INSN_EVIDENCE) &&
	       decode_insn(r->decoder, r->code->bytes, r->code->n_bytes, graph_offset(r->g, i), &x) && x.frame;
}

/* Does the record at `end` speak for an instruction in front of its own that has no notes? */
static bool extrapolated(const struct reference *r, int64_t pc, uint32_t end)
{
	const struct graph *g = r->g;
	int32_t found = graph_find(g, (uint32_t)pc);
	uint32_t i = (uint32_t)found;

	if (found < 0 || graph_offset(g, i) + g->insns[i].len >= end)
		return false;
	if (is_frame_copy(r, i))
		return true;
	for (; i < g->n_insns && graph_offset(g, i) + g->insns[i].len < end; i++)
		if (g->insns[i].flags & INSN_EVIDENCE)
			return true;
	return false;
}

static bool same_path_in_front(const struct reference *r, uint32_t i)
{
	return i > 0 && !r->records[i - 1].removed && r->records[i - 1].pos.node >= 0 &&
	       r->records[i - 1].pos.node == r->records[i].pos.node;
}

static bool take(const struct reference *r, uint32_t i, struct attributed *ret)
{
	if (r->records[i].pos.node < 0)
		return false;
	ret->n = inline_tree_scopes(&r->tree, r->records[i].pos, ret->scope, CODE_MAX_SCOPES);
	return true;
}

bool reference_find(const struct reference *r, int64_t pc, struct attributed *ret, bool *ret_sure)
{
	uint32_t i = 0;
	bool skipped = false;

	*ret_sure = true;
	while (i < r->code->n_records && r->code->records[i].pc_offset <= pc) {
		/* a poll has its own record; that of a call belongs to what lies before it */
		if (r->code->records[i].pc_offset == pc && r->code->records[i].safepoint &&
		    !bytes_end_in_call(r->code->bytes, (uint32_t)pc))
			return take(r, i, ret);
		i++;
	}
	while (i < r->code->n_records && r->records[i].removed) {
		skipped = true;
		i++;
	}
	if (i == r->code->n_records || (skipped && !straight(r->g, pc, r->code->records[i].pc_offset)))
		return false;
	*ret_sure = r->raw || !extrapolated(r, pc, (uint32_t)r->code->records[i].pc_offset) || same_path_in_front(r, i);
	return take(r, i, ret);
}
