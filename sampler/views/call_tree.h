#ifndef JS_VIEWS_CALL_TREE_H
#define JS_VIEWS_CALL_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/output/page_trie.h"
#include "symbolizer/base/vec.h"

struct named_profile;

/* Stacks merged into a tree by method. Node 0 is the root. */
struct call_node {
	uint32_t parent, name; /* string id of the profile */
	uint32_t first_child, next; /* 0: none; larger totals first */
	uint32_t depth; /* 0 for the root */
	uint64_t self; /* samples whose path ends here */
	uint64_t total; /* samples whose path ends here or below; valid once finished */
};

struct call_tree {
	struct page_trie *trie;
	VEC(struct call_node) nodes;
	bool skipped; /* frames that start threads were left out of at least one stack */
};

/*
 * Adds all stacks, root first, with process, thread and state. With a method (one byte per string id, name_pattern.h),
 * only the stacks that contain it, each from its outermost frame of the method: with `callers`, up to the root,
 * otherwise down to the leaf; synthetic roots are not callers, and the root of the tree is the method. skip_start: see
 * frames_skip_start(); callers end at the first Java method, unless the method is below it. 0 or -ENOMEM.
 */
int call_tree_build(struct call_tree *t, const struct named_profile *np, const uint8_t *method, bool callers,
		    bool skip_start);

void call_tree_done(struct call_tree *t);

#endif
