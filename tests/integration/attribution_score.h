#ifndef TEST_ATTRIBUTION_SCORE_H
#define TEST_ATTRIBUTION_SCORE_H

#include <stdint.h>

#include "symbolizer/attribution/attribution.h"
#include "symbolizer/hotspot/hotspot.h"

/* How many samples of a group are named as the reference says: innermost method, outermost inlined
 * child, line; named on the right path, or not as far down on it. */
struct score {
	uint64_t n, method, child, line, not_wrong;
};

double percent(uint64_t part, uint64_t whole);

void score_add(struct hotspot *hs, struct score *s, const struct attributed *x, const struct attributed *truth,
	       uint64_t count);
void score_print(const char *group, const char *rule, const struct score *s, uint64_t all);

void chain_print(struct hotspot *hs, const struct attributed *x);

#endif
