#ifndef JS_ATTRIBUTION_INLINE_TREE_H
#define JS_ATTRIBUTION_INLINE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/base/slots.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/hotspot/code/code.h"

/*
 * The inlining tree of one nmethod, as far as its records show it. A node is an inline path: methods and call-site bcis
 * from the compiled method (node 0) inwards. Equal paths are one node. A node comes after its parent.
 */
struct inline_node {
	uint32_t method_id;
	int32_t parent; /* -1: the compiled method */
	int32_t call_bci; /* in the parent's method */
};

struct inline_pos {
	int32_t node;
	int32_t bci;
};

struct inline_tree {
	VEC(struct inline_node) nodes;
	struct slots by_place; /* (parent, call_bci, method) */
};

int inline_tree_init(struct inline_tree *t, uint32_t root_method); /* -ENOMEM */
void inline_tree_done(struct inline_tree *t);

/* Adds an inlining chain (innermost first). -EINVAL: its root is not the compiled method; -ENOMEM. */
int inline_tree_add(struct inline_tree *t, const struct code_scope *scopes, size_t n, struct inline_pos *ret);

/* Returns the node of `method` called at bci of `parent`, which is added if necessary, or a negative errno. */
int32_t inline_tree_child(struct inline_tree *t, int32_t parent, int32_t bci, uint32_t method);

/* The innermost common node. */
int32_t inline_tree_ancestor(const struct inline_tree *t, int32_t a, int32_t b);

/* The bci of `pos` in the method of `node`, which must be the node of `pos` or an ancestor of that. */
int32_t inline_tree_bci_in(const struct inline_tree *t, struct inline_pos pos, int32_t node);

/* Writes the inlining chain of a position, innermost first; returns its length, at most max. */
size_t inline_tree_scopes(const struct inline_tree *t, struct inline_pos pos, struct code_scope *ret, size_t max);

#endif
