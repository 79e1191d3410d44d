#include "symbolizer/attribution/choice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A search gives up after so many instructions without evidence. */
enum { SEARCH_MAX = 2000 };

struct search {
	const struct graph *g;
	struct choice_scratch *s;
	int32_t loop; /* the search does not leave this loop; -1: no limit */
	bool pseudo; /* entries and returns count as evidence */
	uint32_t n; /* in the queue */
};

void choice_scratch_done(struct choice_scratch *s)
{
	free(s->mark);
	free(s->queue);
	memset(s, 0, sizeof(*s));
}

static int scratch_fit(struct choice_scratch *s, uint32_t n)
{
	uint32_t cap = n + n / 2 + 64;

	if (n <= s->cap)
		return 0;
	choice_scratch_done(s);
	s->mark = calloc(cap, sizeof(*s->mark));
	s->queue = calloc(cap, sizeof(*s->queue));
	if (!s->mark || !s->queue) {
		choice_scratch_done(s);
		return -ENOMEM;
	}
	s->cap = cap;
	return 0;
}

static void search_begin(struct search *q)
{
	struct choice_scratch *s = q->s;

	q->n = 0;
	if (++s->epoch == 0) {
		memset(s->mark, 0, s->cap * sizeof(*s->mark));
		s->epoch = 1;
	}
}

static void search_add(struct search *q, int32_t i)
{
	struct choice_scratch *s = q->s;

	if (s->mark[i] == s->epoch || (q->loop >= 0 && !loop_contains(q->g, q->loop, q->g->insns[i].loop)))
		return;
	s->mark[i] = s->epoch;
	s->queue[q->n++] = (uint32_t)i;
}

static void add_successors(struct search *q, uint32_t i)
{
	for_each_successor(s, q->g, i)
		search_add(q, s);
}

static void add_predecessors(struct search *q, uint32_t i)
{
	for (uint32_t p = q->g->pred_start[i]; p < q->g->pred_start[i + 1]; p++)
		search_add(q, (int32_t)q->g->preds[p]);
}

static bool take_evidence(const struct graph *g, uint32_t i, uint32_t distance, bool behind, struct choice_end *ret)
{
	const struct evidence *e;

	if (g->insns[i].evidence < 0)
		return false;
	e = &g->evidence[g->insns[i].evidence];
	*ret = (struct choice_end){
		.found = true,
		.alone = ret->alone,
		.kind = e->kind,
		.trap = e->trap,
		.pos = behind ? e->after : e->pos,
		.distance = distance,
	};
	return true;
}

static void take_pseudo(uint32_t distance, struct choice_end *ret)
{
	*ret = (struct choice_end){
		.found = true,
		.pseudo = true,
		.alone = ret->alone,
		.pos = {.node = 0, .bci = -1},
		.distance = distance,
	};
}

/* Does the search end at an entry or return, as if that were evidence? */
static bool is_pseudo(const struct search *q, uint32_t i, bool behind)
{
	return q->pseudo && (behind ? q->g->insns[i].flags & INSN_ENTRY : q->g->insns[i].class == INSN_RET);
}

/* Breadth-first, level by level away from the instruction. */
static struct choice_end search_queue(struct search *q, bool behind)
{
	struct choice_end end = {0};
	uint32_t level_end = q->n, distance = behind ? 1 : 0;

	for (uint32_t head = 0; head < q->n && head < SEARCH_MAX; head++) {
		uint32_t i = q->s->queue[head];

		if (head == level_end) {
			level_end = q->n;
			distance++;
		}
		end.alone = q->n == head + 1;
		if (take_evidence(q->g, i, distance, behind, &end))
			break;
		if (is_pseudo(q, i, behind)) {
			take_pseudo(distance, &end);
			break;
		}
		if (behind)
			add_predecessors(q, i);
		else
			add_successors(q, i);
	}
	return end;
}

static struct choice_end search_forward(struct search *q, uint32_t from)
{
	search_begin(q);
	search_add(q, (int32_t)from);
	return search_queue(q, false);
}

static struct choice_end search_backward(struct search *q, uint32_t from)
{
	struct choice_end end = {.alone = true};

	search_begin(q);
	if (is_pseudo(q, from, true)) {
		take_pseudo(1, &end);
		return end;
	}
	add_predecessors(q, from);
	return search_queue(q, true);
}

static void search_both(struct search *q, uint32_t insn, struct choice *ret)
{
	ret->forward = search_forward(q, insn);
	ret->backward = search_backward(q, insn);
}

/* A return has no bci, so gets that of the evidence before it. */
static void set_pseudo_bci(const struct graph *g, struct choice *c)
{
	if (c->forward.pseudo && c->backward.found && !c->backward.pseudo)
		c->forward.pos.bci = inline_tree_bci_in(&g->tree, c->backward.pos, 0);
}

static void choose_nearer(struct choice *c)
{
	if (!c->backward.found || (c->forward.found && c->forward.distance <= c->backward.distance))
		c->pos = c->forward.pos;
	else
		c->pos = c->backward.pos;
}

/* Takes the frames common to both sides, and the bci of the nearer side in the innermost of these. */
static void take_ancestor(const struct graph *g, struct choice *c)
{
	const struct choice_end *near = c->forward.distance <= c->backward.distance ? &c->forward : &c->backward;

	c->ancestor = true;
	c->pos.node = inline_tree_ancestor(&g->tree, c->forward.pos.node, c->backward.pos.node);
	c->pos.bci = inline_tree_bci_in(&g->tree, near->pos, c->pos.node);
}

/* Takes the nearer side if both have the same path, or only one found anything; false: they differ. */
static bool choose_agreed(struct choice *c)
{
	if (c->forward.found && c->backward.found && c->forward.pos.node != c->backward.pos.node)
		return false;
	choose_nearer(c);
	return true;
}

static void choose_in_loops(const struct graph *g, struct search *q, uint32_t insn, struct choice *ret)
{
	int32_t innermost = g->insns[insn].loop;

	for (int32_t l = innermost; l >= 0; l = g->loops[l].parent) {
		if (!g->loops[l].evidence) {
			ret->loop = innermost;
			continue;
		}
		q->loop = l;
		search_both(q, insn, ret);
		if (!ret->forward.found && !ret->backward.found)
			continue;
		if (l == innermost)
			choose_nearer(ret);
		else if (!choose_agreed(ret))
			take_ancestor(g, ret);
		return;
	}
	q->loop = -1;
	search_both(q, insn, ret);
	if (!ret->forward.found && !ret->backward.found)
		ret->pos = (struct inline_pos){.node = 0, .bci = -1};
	else if (!choose_agreed(ret))
		take_ancestor(g, ret);
}

static void choose_outside_loops(const struct graph *g, struct search *q, uint32_t insn, struct choice *ret)
{
	q->pseudo = true;
	search_both(q, insn, ret);
	set_pseudo_bci(g, ret);
	choose_nearer(ret);
	if (!ret->forward.found && !ret->backward.found)
		ret->pos = (struct inline_pos){.node = 0, .bci = -1};
}

/* The instruction itself is evidence, so nothing else is chosen. */
static void take_own(const struct graph *g, uint32_t insn, struct choice *ret)
{
	ret->own = &g->evidence[g->insns[insn].evidence];
	/* An implicit null check is the first access of the callee. */
	ret->pos = ret->own->kind == EVIDENCE_NULL ? ret->own->after : ret->own->pos;
	ret->ancestor = false;
	ret->loop = -1;
}

/* There is no evidence, so takes the compiled method itself. */
static void take_root(struct choice *ret)
{
	ret->forward.alone = ret->backward.alone = true;
	take_pseudo(0, &ret->forward);
	take_pseudo(0, &ret->backward);
	ret->pos = ret->forward.pos;
}

int choose(const struct graph *g, struct choice_scratch *s, uint32_t insn, struct choice *ret)
{
	struct search q = {.g = g, .s = s, .loop = -1};

	memset(ret, 0, sizeof(*ret));
	ret->loop = -1;
	ret->in_loop = g->insns[insn].loop >= 0;
	if (g->n_evidence == 0) {
		take_root(ret);
		return 0;
	}
	if (scratch_fit(s, g->n_insns))
		return -ENOMEM;
	if (g->insns[insn].loop >= 0)
		choose_in_loops(g, &q, insn, ret);
	else
		choose_outside_loops(g, &q, insn, ret);
	if (g->insns[insn].evidence >= 0)
		take_own(g, insn, ret);
	return 0;
}
