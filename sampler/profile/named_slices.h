#ifndef JS_PROFILE_NAMED_SLICES_H
#define JS_PROFILE_NAMED_SLICES_H

#include <stdint.h>

struct named_profile;

/*
 * Widens the time slices of a profile to slice_ns, a multiple of their width; slices of any other width are dropped.
 * Afterwards, equal samples may occur twice.
 */
void named_slices_widen(struct named_profile *np, uint64_t slice_ns);

#endif
