#ifndef JS_STACKS_BUCKET_H
#define JS_STACKS_BUCKET_H

#include <stddef.h>
#include <stdint.h>

#include "symbolizer/base/cursor.h"
#include "symbolizer/base/slots.h"

struct buf;

/* The counts of one target and event in one step; numbers refer to one dictionary. */
struct bucket_count {
	uint32_t node, label;
	uint64_t count, weight;
};

/* The fields of named_meta that can be added up. */
enum bucket_sum {
	SUM_LOST,
	SUM_COMPLETE,
	SUM_RESYNCHRONISED,
	SUM_INCOMPLETE,
	SUM_FROZEN,
	SUM_NO_RECORD,
	SUM_EXACTNESS, /* and the three after it */
	BUCKET_SUMS = SUM_EXACTNESS + 4
};

struct bucket {
	uint64_t sums[BUCKET_SUMS];
	uint64_t period; /* of all samples; 0: it varies */
	struct bucket_count *counts;
	uint32_t n, cap;
	struct slots index;
};

/* Zero-initialise. */
void bucket_done(struct bucket *b);

/* 0 or -ENOMEM. */
int bucket_count(struct bucket *b, uint32_t node, uint32_t label, uint64_t count, uint64_t weight);
/* Notes the period of the samples being added. */
void bucket_period(struct bucket *b, uint64_t period);

/* Sorts the counts; only bucket_done() may be called afterwards. */
void bucket_write(struct bucket *b, struct buf *ret);

/* What a written bucket has, one count after the other, in the order of nodes. */
struct bucket_reader {
	struct cursor bytes;
	uint64_t period; /* of all samples; 0: it varies */
	uint32_t node; /* the last one */
};

/* Adds its sums to `sums`. The bytes are borrowed. */
void bucket_begin(struct bucket_reader *r, const void *bytes, size_t len, uint64_t sums[BUCKET_SUMS]);
/* 1: *ret is the next count, 0: the end, -EBADMSG: damaged. The numbers may be any. */
int bucket_next(struct bucket_reader *r, struct bucket_count *ret);
/* Adds a written bucket. nodes, labels: sizes of these tables. -EBADMSG: damaged, and maybe partly added. */
int bucket_read(struct bucket *b, const void *bytes, size_t len, uint32_t nodes, uint32_t labels);

#endif
