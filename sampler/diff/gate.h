#ifndef JS_DIFF_GATE_H
#define JS_DIFF_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/diff/diff.h"

struct err;
struct named_profile;

/*
 * What must not happen from before to after:
 *
 *   [any] self|total ( PATTERN ) >|>=|<|<= +|- NUMBER pt|%
 *
 * PATTERN is one of name_pattern.h; parentheses in it come in pairs. Without `any` the share of all
 * that matches is looked at as one; with it, each method alone. pt: points of share; %: of the share
 * before. An expression has failed when the change is beyond the limit and chance alone would make
 * as large a one in less than GATE_P of all cases (with `any` divided by the number of methods that have
 * enough samples to be judged).
 */
struct gate {
	const char *text; /* the expression, borrowed */
	char *pattern;
	bool any, total;
	bool less, or_equal; /* operator of the comparison */
	double limit; /* in points or percent, signed */
	bool relative;
};

enum { GATE_TEXT_MAX = 2000 };

extern const double GATE_P; /* 0.01 */

/* -EINVAL: err names the column. */
int gate_parse(const char *text, struct gate *ret, struct err *err);
void gate_done(struct gate *g);

/* Does the expression name this method? */
bool gate_matches(const struct gate *g, const struct diff *d, const struct diff_row *r);

/*
 * Is a change beyond the limit, ignoring chance? If there was no share before, all growth is beyond
 * any percentage.
 */
bool gate_is_beyond(const struct gate *g, const struct diff_change *c);

struct gate_result {
	bool failed;
	size_t matches; /* methods of either side */
	struct diff_change change; /* of all that match; with `any`, of the worst method */
	uint32_t worst; /* with `any`: string id of diff.strings */
};

/* The profiles must be those that the diff was built from. 0 or -ENOMEM. */
int gate_judge(const struct gate *g, const struct diff *d, const struct named_profile *const *profiles,
	       struct gate_result *ret);

#endif
