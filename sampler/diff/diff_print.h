#ifndef JS_DIFF_DIFF_PRINT_H
#define JS_DIFF_DIFF_PRINT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sampler/views/table.h"

struct diff;

struct diff_print_options {
	enum table_format format;
	size_t width; /* width of the terminal written to; 0: not a terminal */
	uint64_t rows; /* maximum of changed rows; 0: all */
	bool all; /* text: also rows that chance may explain */
	const char *const *paths; /* of both sides, before first */
};

/*
 * Text has the changed methods and, separately, other methods that are in the stacks of one side only; JSON and CSV
 * have all methods. Errors stick to the stream.
 */
void diff_print(const struct diff *d, const struct diff_print_options *o, FILE *out);

#endif
