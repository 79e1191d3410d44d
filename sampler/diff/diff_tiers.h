#ifndef JS_DIFF_DIFF_TIERS_H
#define JS_DIFF_DIFF_TIERS_H

#include <stdint.h>
#include <stdio.h>

#include "sampler/views/table.h"

struct err;
struct named_profile;

struct diff_tiers_options {
	enum table_format format;
	size_t width; /* width of the terminal written to; 0: not a terminal */
	uint64_t rows; /* 0: all */
	double work; /* work done by the after side; the before side is 1 */
};

/*
 * Compares a program that ran in two ways: the self time of each Java method before and after, how
 * it ran, and the speed-up (time before x work / time after). Errors stick to the stream; 0 or
 * -ENOMEM.
 */
int diff_tiers_print(const struct named_profile *before, const struct named_profile *after,
		     const struct diff_tiers_options *o, FILE *out, struct err *err);

#endif
