#ifndef JS_STORE_SERIES_H
#define JS_STORE_SERIES_H

#include <stdint.h>

#include "sampler/store/day/query.h"
#include "symbolizer/base/arena.h"

struct day;
struct err;

/*
 * A series while it is being read. Its cells begin at a multiple of the widest step, so that they can be joined into
 * wider ones.
 */
struct series {
	struct store_series pub;
	const struct store_series_query *q;
	const struct store_query *chosen;
	struct arena memory; /* of everything that pub points to */
	size_t rows_cap;
	uint32_t widest_s; /* of the buckets that were read */
};

int series_begin(const struct store_query *chosen, const struct store_series_query *q, struct series **ret,
		 struct err *err);
/* Adds the samples of matching targets in steps that start in [from_s, to_s). */
int series_add_day(struct series *s, struct day *d, int64_t from_s, int64_t to_s, struct err *err);
/* Joins cells that are narrower than what was read, and drops those before the range. */
void series_end(struct series *s);

#endif
