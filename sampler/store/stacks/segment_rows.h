#ifndef JS_STACKS_SEGMENT_ROWS_H
#define JS_STACKS_SEGMENT_ROWS_H

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

#endif
