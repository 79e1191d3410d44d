#ifndef JS_RINGS_RECORD_ORDER_H
#define JS_RINGS_RECORD_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "symbolizer/base/buf.h"
#include "symbolizer/base/vec.h"

/* A record as it was in its ring. */
struct ordered_record {
	uint64_t time_ns;
	size_t at, len; /* in record_order.bytes */
};

/*
 * Sorts records of several rings by time: each ring is in order, but a ring may still get records that are older than
 * those already read from another one. Records of the same time stay in the order in which they were added.
 */
struct record_order {
	VEC(struct ordered_record) records;
	struct buf bytes;
};

int record_order_add(struct record_order *o, uint64_t time_ns, const void *record,
		     size_t len); /* copies it. 0 or -ENOMEM */
/* Removes the records up to that time, and calls take() for each. The others stay, even if memory runs out. */
void record_order_take(struct record_order *o, uint64_t until_ns,
		       void (*take)(void *ctx, const void *record, size_t len), void *ctx);
void record_order_done(struct record_order *o);

#endif
