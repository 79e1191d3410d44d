#ifndef JS_STACKS_SEGMENT_ROWS_H
#define JS_STACKS_SEGMENT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/store/stacks/dictionary.h"

/* The rows of a segment's plain bytes, from the last one to the first. Those that nobody wants are not decoded. */
struct segment_rows {
	const uint8_t *begin, *end; /* of those that are left */
	enum dictionary_table t;
	uint32_t width; /* numbers of a row */
};

/* The first has the number `first`. -EBADMSG: there are none, too many, or something else in between. */
int segment_count_rows(const struct buf *plain, enum dictionary_table t, uint32_t first, uint32_t *ret);

/* Not of strings. The bytes are borrowed, and have a row. */
void segment_rows_begin(struct segment_rows *r, const struct buf *plain, enum dictionary_table t);
void segment_rows_skip(struct segment_rows *r);
/*
 * DICT_COLUMNS numbers of the last row that is left, which has the number `id`; the caller of a node is smaller than that. -EBADMSG: it
 * is none.
 */
int segment_rows_take(struct segment_rows *r, uint32_t id, uint32_t *row);

/* Room for rows of one segment after the other; those that are taken are at the end of it. Zero-initialise. */
struct segment_taken {
	uint32_t *v; /* DICT_COLUMNS numbers each */
	size_t cap;
};

bool segment_taken_room(struct segment_taken *t, uint32_t n); /* false: out of memory */
/* A copy of rows [from, to), for the caller to free(); NULL: out of memory. */
uint32_t *segment_taken_copy(const struct segment_taken *t, uint32_t from, uint32_t to);
void segment_taken_done(struct segment_taken *t);

#endif
