#ifndef JS_STACKS_RENUMBER_H
#define JS_STACKS_RENUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/store/stacks/segment_rows.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/vec.h"

struct dictionary;
struct err;

/*
 * Takes some nodes of a file, and the nodes above them, into a dictionary for the same file, in which each is there once. Frames
 * keep their numbers. It needs a quarter of a byte for each node of the file, and 16 bytes for each that is taken.
 */
struct renumber_segment {
	uint32_t first, n; /* rows */
	uint64_t *bits; /* rows that are taken; NULL: none */
	uint32_t *before; /* for each of them, how many are taken before */
	uint32_t *rows; /* those that are taken, DICT_COLUMNS numbers each, until they have new numbers */
	uint32_t *numbers; /* the new ones of those that are taken */
};

/* Appends the plain bytes of a segment. -errno, with *err set. */
typedef int renumber_fetch_fn(void *ctx, uint32_t first, struct buf *ret, struct err *err);

struct renumber {
	struct dictionary *to; /* borrowed */
	renumber_fetch_fn *fetch;
	void *ctx;
	size_t max; /* nodes that are taken */
	VEC(struct renumber_segment) segments;
	size_t made; /* steps of renumber_some() */
	size_t taken; /* nodes, so far */
	struct buf plain; /* of one segment */
	struct segment_taken rows; /* of one segment */
};

/* The caller sets the members before `segments`, and zeroes the rest. */
void renumber_done(struct renumber *r);

/*
 * The following fail with -EBADMSG if the file does not have such a node, or is damaged; with -ENOMEM; or as fetch() does. *err is
 * set only by fetch().
 */

/* Announces a segment of n nodes, in the order of their first numbers. */
int renumber_segment(struct renumber *r, int64_t first, uint32_t n);
/* All of them, by their first numbers; `count`: one more than the number of the last node. */
int renumber_segments(struct renumber *r, const uint32_t *first, size_t n, uint32_t count);
/* *ret_new: it was not wanted yet. */
int renumber_want(struct renumber *r, uint32_t node, bool *ret_new);
/* Takes what is wanted, in pieces of one segment each. 1: there is more to do. -E2BIG: it is more than `max`. */
int renumber_some(struct renumber *r, struct err *err);
/* After that, the new number of one that was wanted; 0: it was not. */
uint32_t renumber_id(const struct renumber *r, uint32_t node);

#endif
