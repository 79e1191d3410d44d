#include "sampler/views/call_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "sampler/views/frames.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/sorted.h"

static int tree_begin(struct call_tree *t)
{
	*t = (struct call_tree){.trie = page_trie_new()};
	return t->trie && vec_push(&t->nodes, (struct call_node){0}) ? 0 : -ENOMEM;
}

void call_tree_done(struct call_tree *t)
{
	page_trie_free(t->trie);
	vec_done(&t->nodes);
	t->trie = NULL;
}

/* UINT32_MAX: out of memory. */
static uint32_t child_of(struct call_tree *t, uint32_t parent, uint32_t name)
{
	uint32_t id = page_trie_child(t->trie, parent, name);
	struct call_node n = {.parent = parent, .name = name};

	if (id == UINT32_MAX || id < t->nodes.n)
		return id;
	n.depth = t->nodes.v[parent].depth + 1;
	return vec_push(&t->nodes, n) ? id : UINT32_MAX;
}

struct by_total {
	uint64_t total;
	uint32_t parent, name, id;
};

/* Smallest first: each is pushed in front of its siblings, so the largest ends up first. */
static int compare(const void *a, const void *b)
{
	const struct by_total *x = a, *y = b;

	return ascending(x->total, y->total) ?: descending(x->id, y->id);
}

static int tree_finish(struct call_tree *t)
{
	CLEANUP(free_at_exit) struct by_total *order = calloc(t->nodes.n, sizeof(*order));
	struct call_node *nodes = t->nodes.v;

	if (!order)
		return -ENOMEM;
	page_trie_free(t->trie);
	t->trie = NULL;
	for (size_t i = t->nodes.n; i-- > 0;) {
		nodes[i].total += nodes[i].self;
		if (i)
			nodes[nodes[i].parent].total += nodes[i].total;
		order[i] = (struct by_total){.total = nodes[i].total, .id = (uint32_t)i};
	}
	qsort(order, t->nodes.n, sizeof(*order), compare);
	for (size_t i = 0; i < t->nodes.n; i++) {
		struct call_node *n = &nodes[order[i].id];

		if (!order[i].id)
			continue;
		n->next = nodes[n->parent].first_child;
		nodes[n->parent].first_child = order[i].id;
	}
	return 0;
}

/* Adds frames [from, to) of a list that begins at the leaf; to < from: towards the leaf. */
static int add_path(struct call_tree *t, const struct named_profile *np, const struct frames *f, size_t from, size_t to,
		    uint64_t count)
{
	uint32_t node = 0;

	while (from != to && node != UINT32_MAX) {
		size_t at = from < to ? from++ : --from;

		node = child_of(t, node, frame_name(np, f->list.v[at]));
	}
	if (node == UINT32_MAX)
		return -ENOMEM;
	t->nodes.v[node].self += count;
	return 0;
}

/* Finds the outermost frame of the method; SIZE_MAX: there is none. */
static size_t find_method(const struct named_profile *np, const struct frames *f, const uint8_t *method)
{
	for (size_t i = f->list.n; i-- > 0;)
		if (method[frame_name(np, f->list.v[i])] && !named_is_root_label(f->list.v[i]))
			return i;
	return SIZE_MAX;
}

static int add_around(struct call_tree *t, const struct named_profile *np, const struct frames *f,
		      const uint8_t *method, bool callers, uint64_t count)
{
	size_t at = find_method(np, f, method), end = f->list.n;

	if (at == SIZE_MAX)
		return 0;
	if (!callers)
		return add_path(t, np, f, at, 0, count);
	while (end > at + 1 && named_is_root_label(f->list.v[end - 1]))
		end--;
	return add_path(t, np, f, at + 1, end, count);
}

/* A method that itself starts threads keeps its callers. 0 or -ENOMEM. */
static int skip_start_of(struct call_tree *t, struct frames *f, const struct named_profile *np, uint32_t stack,
			 const uint8_t *method)
{
	size_t at = method ? find_method(np, f, method) : 0;

	if (at == SIZE_MAX || !frames_skip_start(f, np, stack))
		return 0;
	if (method && find_method(np, f, method) != at)
		return frames_of(f, np, stack);
	t->skipped = true;
	return 0;
}

int call_tree_build(struct call_tree *t, const struct named_profile *np, const uint8_t *method, bool callers,
		    bool skip_start)
{
	CLEANUP(frames_done) struct frames f = {0};
	int r = tree_begin(t);

	for (uint32_t i = 0; r == 0 && i < np->n_samples; i++) {
		const struct named_sample *s = &np->samples[i];

		r = frames_of(&f, np, s->stack);
		if (r < 0 || !s->count)
			continue;
		if (skip_start)
			r = skip_start_of(t, &f, np, s->stack, method);
		if (r < 0)
			break;
		r = method ? add_around(t, np, &f, method, callers, s->count) :
			     add_path(t, np, &f, f.list.n, 0, s->count);
	}
	return r == 0 ? tree_finish(t) : r;
}
