#ifndef JS_STACKS_EXCERPT_H
#define JS_STACKS_EXCERPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/segment_rows.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/vec.h"

struct err;

/*
 * Takes from a file's dictionary what some of its samples refer to, and adds it to a dictionary in memory. Only the segments that have
 * such rows are read, and only these rows are added, so that looking at one of many targets does not cost what all of them have left
 * in the file.
 *
 * Every row has a mark: 0 as long as nobody wants it, and, once excerpt_make() has added it, its number in the other dictionary.
 * In between, it may be any other number.
 */
enum { EXCERPT_WANTED = UINT32_MAX };

struct excerpt_segment {
	uint32_t first, n; /* n: rows; 0: not read yet */
	struct buf plain; /* of strings until the end, of others until their rows are in `wanted` */
	uint32_t *marks; /* by row; NULL: not read yet, or damaged */
	uint32_t *wanted; /* rows that are wanted, DICT_COLUMNS numbers each */
};

struct excerpt_table {
	VEC(struct excerpt_segment) segments;
	size_t found; /* the last that was looked for: most look-ups find the same one, or the next */
	/*
	 * Numbers in blocks of 1 << shift: the segment that the first of each is in, of which there are about as many. NULL:
	 * not made yet, or no memory.
	 */
	uint32_t *blocks;
	size_t n_blocks;
	unsigned shift;
	uint32_t none; /* the mark of row 0, which no segment has */
};

/* Appends the plain bytes of a segment. -errno, with *err set. */
typedef int excerpt_fetch_fn(void *ctx, enum dictionary_table t, uint32_t first, struct buf *ret, struct err *err);

struct excerpt {
	struct dictionary *to; /* borrowed; rows that it has already are found */
	excerpt_fetch_fn *fetch;
	void *ctx;
	bool leaves; /* of nodes, only the kind is needed: without callers and names */
	struct excerpt_table tables[DICT_TABLES];
	struct segment_taken rows; /* of one segment, while it is closed */
};

/* The caller sets the members before `tables`, and zeroes the rest. */
void excerpt_done(struct excerpt *e);

/*
 * The following fail with -EBADMSG if the file does not have such a row, or is damaged; with -ENOMEM; or as fetch() does. *err is
 * set only by fetch().
 */

/* Announces a segment, in the order of their first numbers. Only nodes may begin with another number than 1. */
int excerpt_segment(struct excerpt *e, enum dictionary_table t, int64_t first);
/* The mark of a row, valid until excerpt_done(). A caller may keep a number of its own there until excerpt_make(). */
int excerpt_mark(struct excerpt *e, enum dictionary_table t, uint32_t id, uint32_t **ret, struct err *err);
int excerpt_want(struct excerpt *e, enum dictionary_table t, uint32_t id, struct err *err);
/* Adds all wanted rows, and what they refer to. Once only. */
int excerpt_make(struct excerpt *e, struct err *err);
/* The number of a wanted row in the other dictionary; 0: of one that is not wanted. After excerpt_make(). */
uint32_t excerpt_id(struct excerpt *e, enum dictionary_table t, uint32_t id);
/* Adds at once one string, or, before excerpt_make(), one row of strings. */
int excerpt_add(struct excerpt *e, enum dictionary_table t, uint32_t id, uint32_t *ret, struct err *err);

#endif
