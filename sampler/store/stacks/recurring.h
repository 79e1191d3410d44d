#ifndef JS_STACKS_RECURRING_H
#define JS_STACKS_RECURRING_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/store/stacks/recent.h"

/*
 * Numbers (never 0) by keys (never 0), of which those that recur are kept for long. Most stacks are sampled once and never
 * again: of 24,000 in 20 minutes of JVMs that start and end, 21,000. What is not looked for in the period after the one in
 * which it was added is forgotten; where more than the limit are added in one period, earlier. Zero-initialise; recurring_limit().
 */
struct recurring {
	struct recent once, lasting;
};

void recurring_limit(struct recurring *r, size_t max); /* of both kinds; twice as many at most (recent.h) */
static inline size_t recurring_max(const struct recurring *r) /* 0: no limit was set, and nothing is to be kept */
{
	return r->lasting.max;
}
/* Time has come to these periods (recent_period()): of what was seen once, and of what recurs. 0: that one has none. */
void recurring_period(struct recurring *r, int64_t once, int64_t lasting);
uint32_t recurring_get(struct recurring *r, uint64_t key); /* notes that it recurs; 0: not there */
uint32_t recurring_use(struct recurring *r, uint64_t key); /* the same; what recurs counts as new */
void recurring_put(struct recurring *r, uint64_t key, uint32_t value); /* without memory, nothing is added */
size_t recurring_bytes(const struct recurring *r); /* memory held */
void recurring_done(struct recurring *r);

#endif
