#include "sampler/output/page_trie.h"

#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/u64map.h"
#include "symbolizer/base/vec.h"

enum { ROWS_COMPARED = 64 };

/* Links are positions; 0 means none, because the root is not a child and row 0 is unused. */
struct node {
	uint32_t parent, frame;
	uint32_t first_child, next;
	uint32_t first_row;
	uint32_t depth;
};

struct row {
	uint32_t next, label;
	uint64_t count, weight;
	uint32_t first_slice;
};

struct page_trie {
	VEC(struct node) nodes;
	VEC(struct row) rows;
	VEC(struct page_slice) slices;
	VEC(struct page_slice) handed; /* entries of one row, consecutive */
	struct u64map children; /* node, by key_of() */
	uint32_t max_depth;
};

struct page_trie *page_trie_new(void)
{
	struct page_trie *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	if (vec_push(&t->nodes, (struct node){0}) && vec_push(&t->rows, (struct row){0}))
		return t;
	page_trie_free(t);
	return NULL;
}

void page_trie_free(struct page_trie *t)
{
	if (!t)
		return;
	vec_done(&t->nodes);
	vec_done(&t->rows);
	vec_done(&t->slices);
	vec_done(&t->handed);
	u64map_done(&t->children);
	free(t);
}

/* Never 0, which a u64map does not take. It does not overflow: a parent is less than UINT32_MAX. */
static uint64_t key_of(uint32_t parent, uint32_t frame)
{
	return ((uint64_t)parent << 32 | frame) + 1;
}

uint32_t page_trie_child(struct page_trie *t, uint32_t parent, uint32_t frame)
{
	struct node n = {.parent = parent, .frame = frame};
	uint32_t id = u64map_get(&t->children, key_of(parent, frame));

	if (id)
		return id;
	id = (uint32_t)t->nodes.n;
	n.next = t->nodes.v[parent].first_child;
	n.depth = t->nodes.v[parent].depth + 1;
	if (t->nodes.n >= UINT32_MAX || !u64map_put(&t->children, key_of(parent, frame), id))
		return UINT32_MAX;
	if (!vec_push(&t->nodes, n)) {
		u64map_remove(&t->children, key_of(parent, frame));
		return UINT32_MAX;
	}
	t->nodes.v[parent].first_child = id;
	if (n.depth > t->max_depth)
		t->max_depth = n.depth;
	return id;
}

bool page_trie_add(struct page_trie *t, uint32_t node, uint32_t label, uint64_t count, uint64_t weight)
{
	struct row r = {.next = t->nodes.v[node].first_row, .label = label, .count = count, .weight = weight};
	uint32_t looked = 0;

	/* Equal rows are merged if that is cheap; a reader merges the others. */
	for (uint32_t i = r.next; i && looked < ROWS_COMPARED; i = t->rows.v[i].next, looked++) {
		if (t->rows.v[i].label != label)
			continue;
		t->rows.v[i].count += count;
		t->rows.v[i].weight += weight;
		return true;
	}
	if (t->rows.n >= UINT32_MAX || !vec_push(&t->rows, r))
		return false;
	t->nodes.v[node].first_row = (uint32_t)t->rows.n - 1;
	return true;
}

bool page_trie_slice(struct page_trie *t, uint32_t node, uint32_t label, uint32_t slice, uint64_t count)
{
	uint32_t i = t->nodes.v[node].first_row;

	/* page_trie_add() puts a label's latest row first. */
	while (i && t->rows.v[i].label != label)
		i = t->rows.v[i].next;
	if (!i)
		return true;
	/* Position 0 means none. */
	if ((!t->slices.n && !vec_push(&t->slices, (struct page_slice){0})) || t->slices.n >= UINT32_MAX ||
	    !vec_push(&t->slices, ((struct page_slice){slice, t->rows.v[i].first_slice, count})))
		return false;
	t->rows.v[i].first_slice = (uint32_t)t->slices.n - 1;
	return true;
}

size_t page_trie_rows(const struct page_trie *t)
{
	return t->rows.n - 1;
}

/* State of the walk: the path to the current node, and how many of its frames the reader already has. */
struct walk_state {
	uint32_t *path;
	uint32_t known;
	page_row_fn *fn;
	void *ctx;
};

static bool collect_slices(struct page_trie *t, uint32_t first)
{
	t->handed.n = 0;
	for (uint32_t i = first; i; i = t->slices.v[i].next)
		if (!vec_push(&t->handed, t->slices.v[i]))
			return false;
	return true;
}

static bool hand_over(struct page_trie *t, struct walk_state *w, const struct node *n)
{
	for (uint32_t i = n->first_row; i; i = t->rows.v[i].next) {
		const struct row *r = &t->rows.v[i];
		struct page_row out = {.shared = w->known,
				       .n = n->depth - w->known,
				       .frames = w->path + w->known,
				       .label = r->label,
				       .count = r->count,
				       .weight = r->weight};

		if (!collect_slices(t, r->first_slice))
			return false;
		out.slices = t->handed.v;
		out.n_slices = (uint32_t)t->handed.n;
		w->fn(w->ctx, &out);
		w->known = n->depth;
	}
	return true;
}

int page_trie_walk(struct page_trie *t, page_row_fn *fn, void *ctx)
{
	CLEANUP(free_at_exit) uint32_t *path = malloc(((size_t)t->max_depth + 1) * sizeof(*path));
	struct walk_state w = {.path = path, .fn = fn, .ctx = ctx};
	uint32_t at = t->nodes.v[0].first_child;

	if (!path)
		return -ENOMEM;
	while (at) {
		const struct node *n = &t->nodes.v[at];

		path[n->depth - 1] = n->frame;
		if (w.known >= n->depth)
			w.known = n->depth - 1;
		if (!hand_over(t, &w, n))
			return -ENOMEM;
		if (n->first_child) {
			at = n->first_child;
			continue;
		}
		while (at && !t->nodes.v[at].next)
			at = t->nodes.v[at].parent;
		at = at ? t->nodes.v[at].next : 0;
	}
	return 0;
}
