#ifndef JS_STORE_DAY_READ_H
#define JS_STORE_DAY_READ_H

#include <stdint.h>

struct day;
struct err;
struct samples;
struct store_query;

/* Adds the samples matching `q` from steps that start in [from_s, to_s). */
int day_read(struct day *d, const struct store_query *q, int64_t from_s, int64_t to_s, struct samples *s,
	     struct err *err);

#endif
