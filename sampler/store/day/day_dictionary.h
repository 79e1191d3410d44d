#ifndef JS_STORE_DAY_DICTIONARY_H
#define JS_STORE_DAY_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/store/stacks/dictionary.h"
#include "symbolizer/base/vec.h"

struct buf;
struct day;
struct err;
struct excerpt;

/* Limits when reading: a segment is settled at 128 KB at most, but may end with a name of any length. */
enum { DAY_SEGMENT_MAX = 256 << 20, DAY_NODE_SEGMENT_MAX = 1 << 20 }; /* DAY_NODE_SEGMENT_MAX: of nodes */

/* Loads the dictionary for a writer: all but nodes, which may be many, and are added anew. */
int day_load(struct day *d, struct err *err);
/* Prepares *e, zero-initialised but for `leaves`, for taking names from the file into `to`. excerpt_done() in any case. */
int day_excerpt_begin(struct day *d, struct dictionary *to, struct excerpt *e, struct err *err);
/* Appends its plain bytes. -EBADMSG: it is not there, damaged, or has more than `max`. */
int day_fetch_segment(struct day *d, enum dictionary_table t, uint32_t first, size_t max, struct buf *ret,
		      struct err *err);
int day_fetch_nodes(void *day, uint32_t first, struct buf *ret, struct err *err); /* a renumber_fetch_fn */
/*
 * The first numbers of all segments of nodes; *ret_count: one more than the number of the last node. The last segment is unpacked,
 * which must not have more than `max` bytes. vec_done() in any case.
 */
typedef VEC(uint32_t) day_segments;
int day_list_nodes(struct day *d, size_t max, day_segments *ret, uint32_t *ret_count, struct err *err);
/* Sets *err for what a function of excerpt.h or renumber.h has failed with, and returns that. */
int day_dictionary_failed(struct day *d, int r, struct err *err);

#endif
