#ifndef JS_STACKS_RECENT_H
#define JS_STACKS_RECENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/base/u64map.h"

/*
 * Numbers (never 0) by keys (never 0), of which the latest `max` are kept, and at most twice as many: when there are that
 * many in `young`, these become `old`, and the ones that were old are gone. Zero-initialise, and set max.
 */
struct recent {
	struct u64map young, old;
	size_t max;
	int64_t period; /* 0: none yet */
};

uint32_t recent_get(const struct recent *r, uint64_t key); /* 0: not there */
uint32_t recent_use(struct recent *r, uint64_t key); /* the same; it counts as new */
void recent_put(struct recent *r, uint64_t key, uint32_t value); /* without memory, nothing is added */
/*
 * Time has come to this period, not 0: if it is another one, the young ones become old. The one before it may still come
 * late; an earlier one is that of a clock that was set back.
 */
void recent_period(struct recent *r, int64_t period);
size_t recent_bytes(const struct recent *r); /* memory held */
void recent_done(struct recent *r);

#endif
