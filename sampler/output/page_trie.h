#ifndef JS_OUTPUT_PAGE_TRIE_H
#define JS_OUTPUT_PAGE_TRIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Stacks as a tree, root first, so that each is written as the difference from the previous one.
 * Node 0 is the root. A node has rows: the samples that end there, by label.
 */
struct page_trie;

/*
 * A group of samples to write: its stack is the previous one cut to `shared` frames, followed by
 * the n frames of `frames`.
 */
struct page_row {
	uint32_t shared, n;
	const uint32_t *frames;
	uint32_t label;
	uint64_t count, weight;
	const struct page_slice *slices; /* in no particular order; a slice may occur twice */
	uint32_t n_slices;
};

struct page_slice {
	uint32_t slice, next; /* next: used by the trie */
	uint64_t count;
};

typedef void page_row_fn(void *ctx, const struct page_row *row);

struct page_trie *page_trie_new(void); /* NULL: out of memory */
void page_trie_free(struct page_trie *t);

/* Finds or adds the child of `parent` for that frame; UINT32_MAX: out of memory. New nodes are numbered from 1. */
uint32_t page_trie_child(struct page_trie *t, uint32_t parent, uint32_t frame);
bool page_trie_add(struct page_trie *t, uint32_t node, uint32_t label, uint64_t count, uint64_t weight);
/* Notes that `count` of the samples last added to the node belong to a time slice. */
bool page_trie_slice(struct page_trie *t, uint32_t node, uint32_t label, uint32_t slice, uint64_t count);
size_t page_trie_rows(const struct page_trie *t);

/* Calls fn for all rows, always in the same order. 0 or -ENOMEM. */
int page_trie_walk(struct page_trie *t, page_row_fn *fn, void *ctx);

#endif
