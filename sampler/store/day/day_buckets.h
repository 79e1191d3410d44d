#ifndef JS_STORE_DAY_BUCKETS_H
#define JS_STORE_DAY_BUCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/store/day/day_targets.h"

struct day;
struct err;
struct excerpt;

/* Which buckets of a file. */
struct day_range {
	const day_numbers *targets; /* ascending */
	const char *event;
	int64_t from_s, to_s; /* start times of their steps; to_s is exclusive */
	bool totals; /* if this is the whole day, one bucket for all of it will do */
};

struct day_bucket {
	int64_t at, end_s; /* when its first step begins, and the last one ends */
	bool is_total;
	uint64_t period; /* of a total: that of its last step; 0: it varies */
	size_t target; /* index into the range's targets */
	uint32_t unit; /* of the event: string in the excerpt's dictionary */
	const void *bytes; /* bucket_begin() */
	size_t len;
};

/* A result other than 0 ends day_each_bucket(), and is returned. */
typedef int day_bucket_fn(void *ctx, const struct day_bucket *b, struct err *err);
/* By time, but totals come first. Of other targets' buckets, only the index is read. */
int day_each_bucket(struct day *d, const struct day_range *range, struct excerpt *names, day_bucket_fn *fn, void *ctx,
		    struct err *err);
/* Announces the nodes of its samples, for excerpt_make(). */
int day_want_nodes(struct day *d, const struct day_bucket *b, struct excerpt *names, struct err *err);

#endif
