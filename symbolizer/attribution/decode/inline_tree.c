#include "symbolizer/attribution/decode/inline_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/hash.h"

/* More paths than any nmethod has: C2 limits the nodes of a compilation to 80,000 (MaxNodeLimit). */
enum { MAX_NODES = 1 << 18 };

static uint64_t node_hash(const struct inline_node *n)
{
	return hash_mix(((uint64_t)(uint32_t)n->parent << 32) | (uint32_t)n->call_bci, n->method_id);
}

static bool node_is(const void *ctx, const void *wanted, uint32_t i)
{
	const struct inline_node *a = &((const struct inline_tree *)ctx)->nodes.v[i], *b = wanted;

	return a->parent == b->parent && a->call_bci == b->call_bci && a->method_id == b->method_id;
}

static int32_t node_add(struct inline_tree *t, const struct inline_node *n)
{
	if (t->nodes.n >= MAX_NODES || !slots_push(&t->by_place, node_hash(n), &t->nodes, *n))
		return -ENOMEM;
	return (int32_t)t->nodes.n - 1;
}

int inline_tree_init(struct inline_tree *t, uint32_t root_method)
{
	*t = (struct inline_tree){0};
	return node_add(t, &(struct inline_node){.method_id = root_method, .parent = -1, .call_bci = -1}) < 0 ?
		       -ENOMEM :
		       0;
}

void inline_tree_done(struct inline_tree *t)
{
	vec_done(&t->nodes);
	slots_done(&t->by_place);
}

int32_t inline_tree_child(struct inline_tree *t, int32_t parent, int32_t bci, uint32_t method)
{
	struct inline_node wanted = {method, parent, bci};
	uint32_t child = slots_find(&t->by_place, node_hash(&wanted), node_is, t, &wanted);

	return child != SLOTS_NONE ? (int32_t)child : node_add(t, &wanted);
}

int inline_tree_add(struct inline_tree *t, const struct code_scope *scopes, size_t n, struct inline_pos *ret)
{
	int32_t node = 0;

	if (n == 0 || n > CODE_MAX_SCOPES || scopes[n - 1].method_id != t->nodes.v[0].method_id)
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
		if (a > b)
			a = t->nodes.v[a].parent;
		else
			b = t->nodes.v[b].parent;
	}
	return a;
}

int32_t inline_tree_bci_in(const struct inline_tree *t, struct inline_pos pos, int32_t node)
{
	while (pos.node != node && pos.node > 0) {
		pos.bci = t->nodes.v[pos.node].call_bci;
		pos.node = t->nodes.v[pos.node].parent;
	}
	return pos.bci;
}

size_t inline_tree_scopes(const struct inline_tree *t, struct inline_pos pos, struct code_scope *ret, size_t max)
{
	size_t n = 0;

	while (pos.node >= 0 && n < max) {
		ret[n++] = (struct code_scope){.method_id = t->nodes.v[pos.node].method_id, .bci = pos.bci};
		pos.bci = t->nodes.v[pos.node].call_bci;
		pos.node = t->nodes.v[pos.node].parent;
	}
	return n;
}
