#ifndef JS_ATTRIBUTION_ELIMINATION_H
#define JS_ATTRIBUTION_ELIMINATION_H

#include <stdbool.h>

#include "symbolizer/attribution/choice.h"

/* Calls without a record: they were inlined without leaving one, replaced by an intrinsic, or never executed. */

/* Could code between the two ends of the choice belong to an inlined method that left no record? */
bool may_hide_callee(const struct graph *g, const struct attribution_env *env, const struct choice *c);

struct hidden_callee {
	struct inline_pos at; /* of the call */
	uint32_t method_id;
};

/*
 * For a loop without evidence (c->loop) at c->pos: finds the only callee to which the loop can belong. Either the
 * callee has no record, or an end of the choice is in it. false: there is none, there are several, or the loop may be
 * the method's own.
 */
bool find_hidden_callee(const struct graph *g, const struct attribution_env *env, const struct choice *c,
			struct hidden_callee *ret);

#endif
