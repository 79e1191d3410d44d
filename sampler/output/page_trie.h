#ifndef JS_OUTPUT_PAGE_TRIE_H
#define JS_OUTPUT_PAGE_TRIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Stacks as a tree, root first, so that each is written as its difference from the one before.
 * Node 0 is the root. A node has rows: the samples that end there, by label.
 */
struct page_trie;

/* One group of samples on the way out: the stack is the one before cut to `shared` frames, and
 * the n frames of `frames` behind it. */
struct page_row {
	uint32_t shared, n;
	const uint32_t *frames;
	uint32_t label;
	uint64_t count, weight;
	const struct page_slice *slices; /* in no order; a slice may be there twice */
	uint32_t n_slices;
};

struct page_slice {
	uint32_t slice, next; /* next: the trie's own */
	uint64_t count;
};

typedef void page_row_fn(void *ctx, const struct page_row *row);

struct page_trie *page_trie_new(void); /* NULL: out of memory */
void page_trie_free(struct page_trie *t);

/* The child of `parent` for that frame; UINT32_MAX: out of memory. New nodes are numbered from 1 on,
 * as they come. */
uint32_t page_trie_child(struct page_trie *t, uint32_t parent, uint32_t frame);
bool page_trie_add(struct page_trie *t, uint32_t node, uint32_t label, uint64_t count,
		   uint64_t weight);
/* Notes that `count` of the samples last added to the node were taken in a time slice. */
bool page_trie_slice(struct page_trie *t, uint32_t node, uint32_t label, uint32_t slice,
		     uint64_t count);
size_t page_trie_rows(const struct page_trie *t);

/* All rows, in one fixed order. 0 or -ENOMEM. */
int page_trie_walk(struct page_trie *t, page_row_fn *fn, void *ctx);

#endif
