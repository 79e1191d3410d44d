#ifndef JS_OUTPUT_FLAT_H
#define JS_OUTPUT_FLAT_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/model/named_profile.h"

/*
 * A profile added up by method: frames that differ only in tier or inlining are one row, with the split. Self:
 * samples with the method as leaf. Total: samples with the method in their stack, counted once each.
 */
struct flat_row {
	uint32_t name; /* string id of the profile */
	uint64_t self, total; /* samples */
	uint64_t self_weight, total_weight;
	uint64_t self_by_kind[NAMED_KINDS]; /* samples */
};

struct flat {
	struct flat_row *rows; /* sorted by self, then total, then name */
	size_t n;
	uint64_t samples, weight;
	uint64_t self_by_kind[NAMED_KINDS]; /* of all leaf frames */
};

/* 0 or -ENOMEM. Synthetic roots are left out. */
int flat_build(const struct named_profile *np, struct flat *ret);
void flat_done(struct flat *f);

/* Short name of a kind: "C2", "inlined", "interpreted", ... */
const char *flat_kind_name(enum named_kind kind);

#endif
