#ifndef JS_VIEWS_TIMELINE_H
#define JS_VIEWS_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/model/named_profile.h"

/* How Java code ran, inlined code as what it was compiled into; and what is no Java code. */
enum timeline_part {
	PART_INTERPRETED,
	PART_C1,
	PART_C2,
	PART_NATIVE,
	PART_KERNEL,
	PART_OTHER,
	TIMELINE_PARTS
};

const char *timeline_part_name(enum timeline_part part);

/* At most so many columns has a method's strip: slices side by side are put together. */
enum { TIMELINE_COLUMNS = 60, TIMELINE_TIERS = PART_C2 + 1 };

struct timeline_slice {
	uint64_t samples, part[TIMELINE_PARTS];
};

struct timeline_method {
	uint32_t name; /* string id of the profile */
	uint64_t self; /* samples */
	struct named_compile compile; /* of all functions of that name */
	uint32_t first[TIMELINE_TIERS]; /* slice of the first sample; 0: none */
	uint32_t column[TIMELINE_COLUMNS][TIMELINE_TIERS]; /* samples, saturating */
};

struct timeline {
	uint64_t slice_ns;
	uint32_t n_slices;
	struct timeline_slice *slices; /* from the first on: slices[0] is slice 1 */
	uint32_t n_columns, slices_per_column;
	struct timeline_method *methods; /* Java methods with self time, most first */
	size_t n_methods;
	uint64_t unsliced; /* samples of no slice */
};

/* -ENODATA: the profile has no slices, or more than anybody looks at; -ENOMEM. */
int timeline_build(const struct named_profile *np, struct timeline *ret);
void timeline_done(struct timeline *t);

#endif
