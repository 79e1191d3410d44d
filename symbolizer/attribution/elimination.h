#ifndef JS_ATTRIBUTION_ELIMINATION_H
#define JS_ATTRIBUTION_ELIMINATION_H

#include <stdbool.h>

#include "symbolizer/attribution/choice.h"

/*
 * Calls that no record knows: inlined without leaving one, replaced by an intrinsic, or never
 * reached (attribution.md 5.4).
 */

/* Could code between the two ends of the choice belong to an inlined method that left no record? */
bool may_hide_callee(const struct graph *g, const struct attribution_env *env,
		     const struct choice *c);

struct hidden_callee {
	struct inline_pos at; /* of the call */
	uint32_t method_id;
};

/*
 * A loop without evidence (c->loop), at c->pos: the one callee with a loop that its code can be, one
 * that no record knows or one that an end of the choice stands in.
 * false: none, several, or the loop may be the method's own.
 */
bool find_hidden_callee(const struct graph *g, const struct attribution_env *env,
			const struct choice *c, struct hidden_callee *ret);

#endif
