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
	uint32_t run_first, run_n; /* the last instructions found to be in one loop, and whether that is in `loop` */
	bool run_inside;
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

static void find_run(struct search *q, uint32_t i)
{
	const struct graph *g = q->g;
	size_t next = first_above(g->runs, g->n_runs, insn, i);

	q->run_first = g->runs[next - 1].insn;
	q->run_n = (next < g->n_runs ? g->runs[next].insn : g->n_insns) - q->run_first;
	q->run_inside = loop_contains(g, q->loop, g->runs[next - 1].loop);
}

static bool is_inside(struct search *q, uint32_t i)
{
	if (q->loop < 0 || !(q->g->insns[i].flags & INSN_LOOP))
		return q->loop < 0;
	if (i - q->run_first >= q->run_n)
		find_run(q, i);
	return q->run_inside;
}

static void search_add(struct search *q, uint32_t i)
{
	struct choice_scratch *s = q->s;

	if (s->mark[i] == s->epoch || !is_inside(q, i))
		return;
	s->mark[i] = s->epoch;
	s->queue[q->n++] = i;
}

static void add_successors(struct search *q, uint32_t i)
{
	const struct graph *g = q->g;

	if (g->insns[i].flags & INSN_FALLS)
		search_add(q, i + 1);
	if (g->insns[i].flags & INSN_TAKEN)
		for (uint32_t k = graph_jumps_from(g, i); k < g->n_jumps && g->jumps[k].from == i; k++)
			search_add(q, g->jumps[k].to);
}

/* In ascending order. */
static void add_predecessors(struct search *q, uint32_t i)
{
	const struct graph *g = q->g;
	bool falls = graph_falls_into(g, i);

	if (g->insns[i].flags & INSN_JOINED)
		for (uint32_t k = graph_jumps_to(g, i); k < g->n_jumps && g->jumps[g->by_target[k]].to == i; k++) {
			uint32_t from = g->jumps[g->by_target[k]].from;

			if (falls && from >= i)
				search_add(q, i - 1);
			falls = falls && from < i;
			search_add(q, from);
		}
	if (falls)
		search_add(q, i - 1);
}

static bool take_evidence(const struct graph *g, uint32_t i, uint32_t distance, bool behind, struct choice_end *ret)
{
	struct evidence e;

	if (!(g->insns[i].flags & INSN_EVIDENCE))
		return false;
	e = graph_evidence(g, i);
	*ret = (struct choice_end){
		.found = true,
		.alone = ret->alone,
		.kind = e.kind,
		.trap = e.trap,
		.pos = behind ? e.after : e.pos,
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
	search_add(q, from);
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
	int32_t innermost = graph_loop(g, insn);

	for (int32_t l = innermost; l >= 0; l = g->loops[l].parent) {
		if (!g->loops[l].evidence) {
			ret->loop = innermost;
			continue;
		}
		q->loop = l;
		q->run_n = 0;
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
	ret->is_evidence = true;
	ret->own = graph_evidence(g, insn);
	/* An implicit null check is the first access of the callee. */
	ret->pos = ret->own.kind == EVIDENCE_NULL ? ret->own.after : ret->own.pos;
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
	ret->in_loop = g->insns[insn].flags & INSN_LOOP;
	if (g->n_evidence == 0) {
		take_root(ret);
		return 0;
	}
	if (scratch_fit(s, g->n_insns))
		return -ENOMEM;
	if (ret->in_loop)
		choose_in_loops(g, &q, insn, ret);
	else
		choose_outside_loops(g, &q, insn, ret);
	if (g->insns[insn].flags & INSN_EVIDENCE)
		take_own(g, insn, ret);
	return 0;
}
