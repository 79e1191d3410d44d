#ifndef TEST_ATTRIBUTION_REFERENCE_H
#define TEST_ATTRIBUTION_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/attribution/choice.h"

/*
 * What -XX:+DebugNonSafepoints says of a pc, without the scopes that it puts everywhere in C2 code
 * (attribution.md 2): those that contradict the path on which the evidence before and after agrees
 * at two or more sites, or both sides where they differ, at four or more.
 */
struct reference;

/* raw: nothing is removed. */
int reference_new(const struct code *full, int major, const struct graph *g, bool raw,
		  struct reference **ret);
void reference_free(struct reference *r);

/* false: only a removed record covers this pc. Chain as in struct attributed. */
bool reference_find(const struct reference *r, int64_t pc, struct attributed *ret);

uint32_t reference_removed(const struct reference *r); /* records */

#endif
