#ifndef JS_VIEWS_TIERS_H
#define JS_VIEWS_TIERS_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/model/named_profile.h"

/* How Java code ran. C1 without a level: the profile does not have it (folded text). */
enum tier { TIER_INTERPRETED, TIER_C1, TIER_C1_1, TIER_C1_2, TIER_C1_3, TIER_C2, TIER_INLINED, TIERS };

/* Self time of a method; the tiers add up to it. */
struct tier_row {
	uint32_t name; /* string id of the profile */
	uint64_t self, self_weight;
	uint64_t samples[TIERS], weight[TIERS];
	uint64_t osr, osr_weight; /* the part of it in OSR code */
	struct named_compile compile; /* combined for all functions of that name */
};

struct tiers {
	struct tier_row *rows; /* Java methods with self time, most first */
	size_t n;
	struct tier_row all; /* the sum of them */
	uint64_t samples, weight; /* of the whole profile */
	uint64_t other[NAMED_KINDS], other_weight[NAMED_KINDS]; /* other code, by kind */
};

/* 0 or -ENOMEM. */
int tiers_build(const struct named_profile *np, struct tiers *ret);
void tiers_done(struct tiers *t);

const char *tier_name(enum tier tier); /* "interpreted", "C1 level 3", ... */

#endif
