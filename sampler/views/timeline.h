#ifndef JS_VIEWS_TIMELINE_H
#define JS_VIEWS_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/model/named_profile.h"

/* How Java code ran, with inlined code counted as the code it was compiled into; and other code. */
enum timeline_part { PART_INTERPRETED, PART_C1, PART_C2, PART_NATIVE, PART_KERNEL, PART_OTHER, TIMELINE_PARTS };

/* Largest width of a method's strip, in characters: adjacent slices are combined. */
enum { TIMELINE_COLUMNS = 60, TIMELINE_TIERS = PART_C2 + 1 };

struct timeline_slice {
	uint64_t samples, part[TIMELINE_PARTS];
};

struct timeline_method {
	uint32_t name; /* string id of the profile */
	uint64_t self; /* samples */
	struct named_compile compile; /* combined for all functions of that name */
	uint32_t first[TIMELINE_TIERS]; /* slice of the first sample; 0: none */
	uint32_t column[TIMELINE_COLUMNS][TIMELINE_TIERS]; /* samples, saturating */
};

struct timeline {
	uint64_t slice_ns;
	uint32_t n_slices;
	struct timeline_slice *slices; /* slices[0] is slice 1 */
	uint32_t n_columns, slices_per_column;
	struct timeline_method *methods; /* Java methods with self time, most first */
	size_t n_methods;
	uint64_t unsliced; /* samples without a slice */
};

/* -ENODATA: the profile has no slices, or too many; -ENOMEM. */
int timeline_build(const struct named_profile *np, struct timeline *ret);
void timeline_done(struct timeline *t);

#endif
