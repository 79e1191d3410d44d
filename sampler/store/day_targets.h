#ifndef JS_STORE_DAY_TARGETS_H
#define JS_STORE_DAY_TARGETS_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/base/vec.h"

struct arena;
struct day;
struct day_sums;
struct err;
struct store_query;
struct store_target;

typedef VEC(int64_t) day_numbers;

/* Appends the numbers of the targets that the query selects, ascending, and notes in *sum what they are called. */
int day_choose_targets(struct day *d, const struct store_query *q, day_numbers *ret, struct day_sums *sum,
		       struct err *err);
bool day_is_chosen(const day_numbers *targets, int64_t target);
/* Which process a target is: *ret has no labels; its boot id is borrowed until the next statement. */
int day_read_process(struct day *d, int64_t target, struct store_target *ret, struct err *err);
/* The same with copies of all its texts in `texts`. */
int day_read_target(struct day *d, int64_t target, struct arena *texts, struct store_target *ret, struct err *err);
bool day_event_is(const struct day *d, int64_t event, const char *name);

#endif
