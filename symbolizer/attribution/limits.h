#ifndef JS_ATTRIBUTION_LIMITS_H
#define JS_ATTRIBUTION_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/attribution/graph.h"

/*
 * Constants that a loop runs to, in machine code and in bytecodes: where several loops are without evidence,
 * they tell which one is whose. A loop that C2 unrolls stops some rounds short of the limit (loopTransform.cpp,
 * do_unroll()), the rest is done by a copy behind it.
 */

/* Does `loop`, or one within it, end at a limit that a loop of the method has? Limits below 256 say nothing. */
bool limits_agree(const struct graph *g, int32_t loop, const struct attribution_env *env, uint32_t method_id);

#endif
