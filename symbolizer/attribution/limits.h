#ifndef JS_ATTRIBUTION_LIMITS_H
#define JS_ATTRIBUTION_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/attribution/graph.h"

/*
 * Compares constant loop limits in machine code and in bytecodes. If several loops have no evidence, this shows which
 * one belongs to which method. A loop that C2 unrolls ends some iterations short of the limit (loopTransform.cpp,
 * do_unroll()); a copy after it does the rest.
 */

/* Does `loop` or an inner loop have the limit of a loop of the method? Limits below 256 are ignored. */
bool limits_agree(const struct graph *g, int32_t loop, const struct attribution_env *env, uint32_t method_id);

#endif
