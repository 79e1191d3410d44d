#ifndef JS_RINGS_RECORD_ORDER_H
#define JS_RINGS_RECORD_ORDER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolizer/base/buf.h"
#include "symbolizer/base/vec.h"

/* What was made of a record of a ring. */
struct ordered_record {
	uint64_t time_ns;
	pid_t pid;
	size_t at, len; /* in record_order.bytes; `at` is a multiple of 8 */
};

/*
 * Sorts records of several rings by process, and each process's by time: each ring is in order, but a ring may still get
 * records that are older than those already read from another one. Records of the same time stay in the order in which
 * they were added. What is known about a process, and what has been read of it, serves all its records at once.
 */
struct record_order {
	VEC(struct ordered_record) records;
	struct buf bytes;
};

/* Adds a record of `len` bytes, which the caller then sets; they are aligned to 8 bytes. NULL: out of memory. */
void *record_order_add(struct record_order *o, pid_t pid, uint64_t time_ns, size_t len);
/* Removes the records up to that time, and calls take() for each. The others stay, even if memory runs out. */
void record_order_take(struct record_order *o, uint64_t until_ns,
		       void (*take)(void *ctx, const void *record, size_t len), void *ctx);
void record_order_done(struct record_order *o);

#endif
