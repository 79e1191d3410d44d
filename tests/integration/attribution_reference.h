#ifndef TEST_ATTRIBUTION_REFERENCE_H
#define TEST_ATTRIBUTION_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/attribution/choice.h"

/*
 * What -XX:+DebugNonSafepoints says of a pc, without the scopes that it puts everywhere in C2 code: those that contradict
 * the path on which the evidence before and after agrees at two or more sites, or both sides where they differ, at four
 * or more. A branch to a trap or a slow
 * path whose own record names another path is such a site too.
 *
 * A record stands at the end of an instruction that has notes of its own. C2 makes others without any: copies
 * to and from the frame (the register allocator), branches to traps and slow paths (rebuilt after parsing).
 * What is said of these is the record of somebody behind them, unless the one in front names the same path.
 */
struct reference;

/* raw: nothing is removed. */
int reference_new(const struct code *full, int major, const struct graph *g, const struct decoder *d, bool raw,
		  struct reference **ret);
void reference_free(struct reference *r);

/* false: only a removed record covers this pc. Chain as in struct attributed. *ret_sure: false for an
 * instruction that is likely to have no notes. */
bool reference_find(const struct reference *r, int64_t pc, struct attributed *ret, bool *ret_sure);

uint32_t reference_removed(const struct reference *r); /* records */

#endif
