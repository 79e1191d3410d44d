#ifndef JS_STORE_DAY_TARGETS_H
#define JS_STORE_DAY_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/base/vec.h"

struct arena;
struct day;
struct err;
struct store_query;
struct store_target;
struct target_texts;

typedef VEC(int64_t) day_numbers;

/* Appends the numbers of the targets that the query selects, ascending, and notes in *of what they are called. */
int day_choose_targets(struct day *d, const struct store_query *q, day_numbers *ret, struct target_texts *of,
		       struct err *err);
/* *ret: its index. false: it is not among them. */
bool day_find_target(const day_numbers *targets, int64_t target, size_t *ret);
/* Which process a target is: *ret has no labels; its boot id is borrowed until the next statement. */
int day_read_process(struct day *d, int64_t target, struct store_target *ret, struct err *err);
/* The same with copies of all its texts in `texts`. */
int day_read_target(struct day *d, int64_t target, struct arena *texts, struct store_target *ret, struct err *err);

#endif
