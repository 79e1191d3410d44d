#ifndef JS_DIFF_GATE_H
#define JS_DIFF_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/diff/diff.h"

struct err;
struct named_profile;

/*
 * A change from before to after that must not happen:
 *
 *  [any] self|total ( PATTERN ) >|>=|<|<= +|- NUMBER pt|%
 *
 * name_pattern.h describes PATTERN; parentheses in it come in pairs. Without `any`, the share of all matching methods
 * is judged as one; with it, each method alone. pt: points of share; %: of the share before. An expression fails if
 * the change is beyond the limit and chance alone would cause as large a change in less than GATE_P of all cases
 * (with `any`, GATE_P is divided by the number of methods that have enough samples to be judged).
 */
struct gate {
	const char *text; /* the expression, borrowed */
	char *pattern;
	bool any, total;
	bool less, or_equal; /* of the comparison */
	double limit; /* in points or percent, signed */
	bool relative;
};

enum { GATE_TEXT_MAX = 2000 };

extern const double GATE_P; /* 0.01 */

/* -EINVAL: err names the column. */
int gate_parse(const char *text, struct gate *ret, struct err *err);
void gate_done(struct gate *g);

/* Does the pattern match this method? */
bool gate_matches(const struct gate *g, const struct diff *d, const struct diff_row *r);

/* Is the change beyond the limit, ignoring chance? If the share was 0 before, any growth is beyond any percentage. */
bool gate_is_beyond(const struct gate *g, const struct diff_change *c);

struct gate_result {
	bool failed;
	size_t matches; /* matching methods of either side */
	struct diff_change change; /* of all matching methods; with `any`, of the worst one */
	uint32_t worst; /* with `any`: string id of diff.strings */
};

/* The profiles must be those that the diff was built from. 0 or -ENOMEM. */
int gate_judge(const struct gate *g, const struct diff *d, const struct named_profile *const *profiles,
	       struct gate_result *ret);

#endif
