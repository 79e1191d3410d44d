#ifndef TEST_ATTRIBUTION_FOREIGN_H
#define TEST_ATTRIBUTION_FOREIGN_H

#include <stdbool.h>

#include "symbolizer/attribution/attribution.h"
#include "symbolizer/hotspot/hotspot.h"

/*
 * Does a chain name a method that can have no code there: neither one of the nmethod's inlining tree, as
 * its trustworthy records show it, nor what a call in a method of that tree, or of such a callee, calls?
 * Made without attribution's own tree and graph.
 */
bool names_foreign(struct hotspot *hs, const struct code *code, const struct attributed *x);

#endif
