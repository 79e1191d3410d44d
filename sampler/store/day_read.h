#ifndef JS_STORE_DAY_READ_H
#define JS_STORE_DAY_READ_H

#include <stdint.h>

struct day;
struct err;
struct named_builder;
struct store_query;

/* What was read, of all files. */
struct day_sums {
	int64_t first_s, last_s; /* of all steps with samples; last_s is not part of it. 0: none */
	uint64_t period; /* 0: they differ */
	uint32_t targets, buckets;
	char jdk[128], command[512]; /* of the targets, if all have the same */
};

/* Adds the samples that answer `q` of the steps that start in [from_s, to_s). sum: zero-initialise. */
int day_read(struct day *d, const struct store_query *q, int64_t from_s, int64_t to_s, struct named_builder *b,
	     struct day_sums *sum, struct err *err);

#endif
