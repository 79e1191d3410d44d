#include "symbolizer/attribution/inline_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/hash.h"

/* More paths than any nmethod has: JDK's own limit on the nodes of a compilation is 80,000
 * (MaxNodeLimit). */
enum { MAX_NODES = 1 << 18 };

static uint64_t node_hash(int32_t parent, int32_t bci, uint32_t method)
{
	return hash_mix(((uint64_t)(uint32_t)parent << 32) | (uint32_t)bci, method);
}

static void bucket_put(struct inline_tree *t, int32_t node)
{
	const struct inline_node *n = &t->nodes[node];
	uint64_t h = node_hash(n->parent, n->call_bci, n->method_id);

	while (t->buckets[h & (t->n_buckets - 1)] >= 0)
		h++;
	t->buckets[h & (t->n_buckets - 1)] = node;
}

/* Twice as many buckets as nodes fit, so that searches end. */
static int tree_grow(struct inline_tree *t)
{
	uint32_t cap = t->cap ? t->cap * 2 : 16;
	struct inline_node *nodes = realloc(t->nodes, cap * sizeof(*nodes));
	int32_t *buckets;

	if (!nodes)
		return -ENOMEM;
	t->nodes = nodes;
	buckets = malloc(2 * cap * sizeof(*buckets));
	if (!buckets)
		return -ENOMEM;
	free(t->buckets);
	t->buckets = buckets;
	t->n_buckets = 2 * cap;
	t->cap = cap;
	memset(buckets, 0xff, 2 * cap * sizeof(*buckets));
	for (uint32_t i = 0; i < t->n; i++)
		bucket_put(t, (int32_t)i);
	return 0;
}

static int32_t node_add(struct inline_tree *t, int32_t parent, int32_t bci, uint32_t method)
{
	if (t->n >= MAX_NODES || (t->n == t->cap && tree_grow(t)))
		return -ENOMEM;
	t->nodes[t->n] = (struct inline_node){
		.method_id = method,
		.parent = parent,
		.call_bci = bci,
		.depth = parent < 0 ? 0 : t->nodes[parent].depth + 1,
	};
	bucket_put(t, (int32_t)t->n);
	return (int32_t)t->n++;
}

static int32_t node_find(const struct inline_tree *t, int32_t parent, int32_t bci, uint32_t method)
{
	uint64_t h = node_hash(parent, bci, method);

	for (;; h++) {
		int32_t i = t->buckets[h & (t->n_buckets - 1)];

		if (i < 0)
			return -1;
		if (t->nodes[i].parent == parent && t->nodes[i].call_bci == bci &&
		    t->nodes[i].method_id == method)
			return i;
	}
}

int inline_tree_init(struct inline_tree *t, uint32_t root_method)
{
	memset(t, 0, sizeof(*t));
	return node_add(t, -1, -1, root_method) < 0 ? -ENOMEM : 0;
}

void inline_tree_done(struct inline_tree *t)
{
	free(t->nodes);
	free(t->buckets);
	memset(t, 0, sizeof(*t));
}

int32_t inline_tree_child(struct inline_tree *t, int32_t parent, int32_t bci, uint32_t method)
{
	int32_t child = node_find(t, parent, bci, method);

	return child >= 0 ? child : node_add(t, parent, bci, method);
}

int inline_tree_add(struct inline_tree *t, const struct code_scope *scopes, size_t n,
		    struct inline_pos *ret)
{
	int32_t node = 0;

	if (n == 0 || n > CODE_MAX_SCOPES || scopes[n - 1].method_id != t->nodes[0].method_id)
		return -EINVAL;
	for (size_t i = n - 1; i > 0; i--) {
		node = inline_tree_child(t, node, scopes[i].bci, scopes[i - 1].method_id);
		if (node < 0)
			return node;
	}
	*ret = (struct inline_pos){.node = node, .bci = scopes[0].bci};
	return 0;
}

int32_t inline_tree_ancestor(const struct inline_tree *t, int32_t a, int32_t b)
{
	while (a != b) {
		if (t->nodes[a].depth >= t->nodes[b].depth)
			a = t->nodes[a].parent;
		else
			b = t->nodes[b].parent;
	}
	return a;
}

int32_t inline_tree_bci_in(const struct inline_tree *t, struct inline_pos pos, int32_t node)
{
	while (pos.node != node && pos.node > 0) {
		pos.bci = t->nodes[pos.node].call_bci;
		pos.node = t->nodes[pos.node].parent;
	}
	return pos.bci;
}

size_t inline_tree_scopes(const struct inline_tree *t, struct inline_pos pos,
			  struct code_scope *ret, size_t max)
{
	size_t n = 0;

	while (pos.node >= 0 && n < max) {
		ret[n++] = (struct code_scope){.method_id = t->nodes[pos.node].method_id,
					       .bci = pos.bci};
		pos.bci = t->nodes[pos.node].call_bci;
		pos.node = t->nodes[pos.node].parent;
	}
	return n;
}
