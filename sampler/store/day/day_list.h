#ifndef JS_STORE_DAY_LIST_H
#define JS_STORE_DAY_LIST_H

#include <stdint.h>

#include "sampler/store/day/query.h"
#include "symbolizer/base/arena.h"
#include "symbolizer/base/slots.h"
#include "symbolizer/base/vec.h"

struct day;
struct err;

/* What targets have used, over the files read. Zero-initialise but for `max`; store_list_done() releases. */
struct store_list {
	VEC(struct store_row) rows;
	struct slots index; /* of rows, by process */
	struct arena texts;
	size_t max; /* rows; the first that are found */
};

void store_list_done(struct store_list *l);

/* Adds the targets that match `q`, with their samples in steps that start in [from_s, to_s). */
int day_list(struct day *d, const struct store_query *q, int64_t from_s, int64_t to_s, struct store_list *l,
	     struct err *err);

/* Calls `happening` for each event, by time. Stops when it returns something other than 0, and returns that. */
int day_list_happenings(struct day *d, const struct store_query *q, store_happening_fn *happening, void *ctx,
			struct err *err);

#endif
