#ifndef JS_STORE_DAY_READ_H
#define JS_STORE_DAY_READ_H

#include <stdint.h>

struct day;
struct err;
struct named_builder;
struct store_query;

/* Of all stacks that one query reads: bounds its time and memory, whatever the files claim. */
enum { DAY_FRAMES_MAX = 1 << 26 };

/* Totals over all files read. */
struct day_sums {
	int64_t first_s, last_s; /* first and last time with samples; last_s is exclusive. 0: none */
	uint64_t period; /* 0: various */
	uint32_t targets, buckets;
	uint64_t frames; /* of the stacks read */
	uint64_t left_out; /* samples whose stacks are beyond DAY_FRAMES_MAX */
	char jdk[128], command[512]; /* of the targets, if they agree */
};

/* Adds the samples matching `q` from steps that start in [from_s, to_s). Zero-initialise *sum. */
int day_read(struct day *d, const struct store_query *q, int64_t from_s, int64_t to_s, struct named_builder *b,
	     struct day_sums *sum, struct err *err);

#endif
