#include "symbolizer/attribution/graph_build.h"

#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/vec.h"

/*
 * Finds loops: the strongly connected components of the graph, then those of each component without its header (where a
 * depth-first search enters it), and so on inwards. This is Tarjan's algorithm on basic blocks, without recursion.
 */
struct visit {
	uint32_t block, k; /* k: the next successor to visit */
};

/*
 * A component in which inner loops are still to be searched for. Components are taken last in, first out, so that each
 * loop is numbered right before its inner loops.
 */
struct component {
	uint32_t first, n; /* in members; the header comes first */
	int32_t parent;
};

struct looping {
	struct graph_build *b;
	uint32_t n_blocks;
	uint32_t *start; /* first instruction of a block; n_blocks + 1 of them */
	uint32_t *block_of; /* of an instruction */
	uint32_t *num, *low, *region; /* of a block; num 0: not visited */
	bool *stacked;
	uint32_t *stack, n_stack;
	struct visit *path;
	uint32_t counter;
	VEC(uint32_t) members;
	VEC(struct component) parts;
	bool oom;
};

static bool ends_block(const struct build_insn *in)
{
	return !(in->flags & INSN_FALLS) || in->class == INSN_JCC || in->class == INSN_JMP;
}

static int find_blocks(struct looping *l)
{
	const struct graph_build *b = l->b;
	uint8_t *leader = calloc((size_t)b->n_insns + 1, 1);

	l->start = malloc(((size_t)b->n_insns + 1) * sizeof(*l->start));
	l->block_of = malloc(((size_t)b->n_insns + 1) * sizeof(*l->block_of));
	if (!leader || !l->start || !l->block_of) {
		free(leader);
		return -ENOMEM;
	}
	leader[0] = 1;
	for (uint32_t i = 0; i < b->n_insns; i++)
		if (ends_block(&b->insns[i]))
			leader[i + 1] = 1;
	for (uint32_t k = 0; k < b->jumps.n; k++)
		leader[b->jumps.v[k].to] = 1;
	for (uint32_t i = 0; i < b->n_insns; i++) {
		if (leader[i])
			l->start[l->n_blocks++] = i;
		l->block_of[i] = l->n_blocks - 1;
	}
	l->start[l->n_blocks] = b->n_insns;
	free(leader);
	return 0;
}

/* Successor k of a block: a block; -1: none; -2: there are no more. */
static int32_t block_successor(const struct looping *l, uint32_t block, uint32_t k)
{
	int32_t s = build_successor(l->b, l->start[block + 1] - 1, k);

	return s >= 0 ? (int32_t)l->block_of[s] : s;
}

static bool has_self_edge(const struct looping *l, uint32_t block)
{
	int32_t s;

	for (uint32_t k = 0; (s = block_successor(l, block, k)) != -2; k++)
		if (s == (int32_t)block)
			return true;
	return false;
}

/* Takes the component with this root off the stack. */
static void take_component(struct looping *l, uint32_t root, int32_t parent)
{
	struct component p = {.first = (uint32_t)l->members.n, .parent = parent};
	bool loop = l->stack[l->n_stack - 1] != root || has_self_edge(l, root);
	uint32_t block;

	if (loop && !vec_push(&l->members, root))
		l->oom = true;
	do {
		block = l->stack[--l->n_stack];
		l->stacked[block] = false;
		if (loop && block != root && !vec_push(&l->members, block))
			l->oom = true;
	} while (block != root);
	p.n = (uint32_t)l->members.n - p.first;
	if (loop && !vec_push(&l->parts, p))
		l->oom = true;
}

static void enter(struct looping *l, uint32_t *n_path, uint32_t block)
{
	l->num[block] = l->low[block] = ++l->counter;
	l->stack[l->n_stack++] = block;
	l->stacked[block] = true;
	l->path[(*n_path)++] = (struct visit){.block = block};
}

static void search_from(struct looping *l, uint32_t block, uint32_t region, int32_t parent)
{
	uint32_t n_path = 0;

	if (l->num[block])
		return;
	enter(l, &n_path, block);
	while (n_path > 0) {
		struct visit *v = &l->path[n_path - 1];
		uint32_t from = v->block;
		int32_t s = block_successor(l, from, v->k++);

		if (s >= 0) {
			if (l->region[s] != region)
				continue;
			if (!l->num[s])
				enter(l, &n_path, (uint32_t)s);
			else if (l->stacked[s] && l->num[s] < l->low[from])
				l->low[from] = l->num[s];
		} else if (s == -2) {
			n_path--;
			if (n_path > 0 && l->low[from] < l->low[l->path[n_path - 1].block])
				l->low[l->path[n_path - 1].block] = l->low[from];
			if (l->low[from] == l->num[from])
				take_component(l, from, parent);
		}
	}
}

/* Finds the outermost loops. Searches start at the entries, so that a loop is entered at its header. */
static void search_all(struct looping *l)
{
	for (uint32_t i = 0; i < l->b->n_insns; i++)
		if (l->b->insns[i].flags & INSN_ENTRY)
			search_from(l, l->block_of[i], 0, -1);
	for (uint32_t block = 0; block < l->n_blocks; block++)
		search_from(l, block, 0, -1);
}

static void search_inside(struct looping *l, struct component p, int32_t loop)
{
	uint32_t header = l->members.v[p.first], region = (uint32_t)loop + 1;
	int32_t s;

	l->region[header] = 0;
	for (uint32_t i = 1; i < p.n; i++) {
		uint32_t b = l->members.v[p.first + i];

		l->region[b] = region;
		l->num[b] = 0;
	}
	for (uint32_t k = 0; (s = block_successor(l, header, k)) != -2; k++)
		if (s >= 0 && l->region[s] == region)
			search_from(l, (uint32_t)s, region, loop);
	/* `members` may move during the search */
	for (uint32_t i = 1; i < p.n; i++)
		search_from(l, l->members.v[p.first + i], region, loop);
}

static void add_loop(struct looping *l, struct component p)
{
	struct loop loop = {.parent = p.parent};
	int32_t index = (int32_t)l->b->loops.n;

	if (p.parent >= 0)
		loop.depth = l->b->loops.v[p.parent].depth + 1;
	loop.last = (uint32_t)index;
	for (uint32_t i = 0; i < p.n; i++) {
		uint32_t b = l->members.v[p.first + i];

		for (uint32_t x = l->start[b]; x < l->start[b + 1]; x++) {
			l->b->insns[x].loop = index;
			l->b->insns[x].flags |= INSN_LOOP;
			loop.evidence = loop.evidence || l->b->insns[x].flags & INSN_EVIDENCE;
		}
	}
	if (!vec_push(&l->b->loops, loop))
		l->oom = true;
	else if (p.n > 1 && loop.depth + 1 < GRAPH_MAX_LOOP_DEPTH)
		search_inside(l, p, index);
}

static int looping_alloc(struct looping *l)
{
	size_t n = l->n_blocks;

	l->num = calloc(n, sizeof(*l->num));
	l->low = calloc(n, sizeof(*l->low));
	l->region = calloc(n, sizeof(*l->region));
	l->stacked = calloc(n, sizeof(*l->stacked));
	l->stack = calloc(n, sizeof(*l->stack));
	l->path = calloc(n, sizeof(*l->path));
	return l->num && l->low && l->region && l->stacked && l->stack && l->path ? 0 : -ENOMEM;
}

static void looping_done(struct looping *l)
{
	free(l->start);
	free(l->block_of);
	free(l->num);
	free(l->low);
	free(l->region);
	free(l->stacked);
	free(l->stack);
	free(l->path);
	vec_done(&l->members);
	vec_done(&l->parts);
}

static void set_last(struct looping *l)
{
	for (size_t i = l->b->loops.n; i-- > 0;) {
		int32_t parent = l->b->loops.v[i].parent;

		if (parent >= 0 && l->b->loops.v[parent].last < l->b->loops.v[i].last)
			l->b->loops.v[parent].last = l->b->loops.v[i].last;
	}
}

static uint8_t insn_effects(const struct build_insn *in)
{
	uint8_t effects = in->flags & BUILD_FLOATING ? LOOP_FLOATING : 0;

	if (in->flags & BUILD_RECORD || (in->class != INSN_CALL && in->class != INSN_CALL_INDIRECT))
		return effects;
	if (in->role != ROLE_NATIVE)
		effects |= LOOP_STUB_CALL;
	if (in->role == ROLE_NATIVE || in->role == ROLE_NONE)
		effects |= LOOP_RUNTIME_CALL;
	return effects;
}

static void note_effects(struct loop *l, const struct build_insn *in)
{
	l->effects |= insn_effects(in);
	if ((in->flags & BUILD_LIMIT) && l->n_limits < LOOP_LIMITS)
		l->limits[l->n_limits++] = in->target;
}

static void note_all_effects(struct graph_build *b)
{
	for (uint32_t i = 0; i < b->n_insns; i++)
		if (b->insns[i].loop >= 0)
			note_effects(&b->loops.v[b->insns[i].loop], &b->insns[i]);
	for (size_t i = b->loops.n; i-- > 0;)
		if (b->loops.v[i].parent >= 0)
			b->loops.v[b->loops.v[i].parent].effects |= b->loops.v[i].effects;
}

int build_find_loops(struct graph_build *b)
{
	struct looping l = {.b = b};
	int r = find_blocks(&l);

	if (r == 0)
		r = looping_alloc(&l);
	if (r == 0) {
		search_all(&l);
		while (l.parts.n > 0 && !l.oom) {
			struct component p = l.parts.v[--l.parts.n];

			add_loop(&l, p);
		}
		r = l.oom ? -ENOMEM : 0;
	}
	if (r == 0) {
		set_last(&l);
		note_all_effects(b);
	}
	looping_done(&l);
	return r;
}
