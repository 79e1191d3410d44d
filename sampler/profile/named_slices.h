#ifndef JS_PROFILE_NAMED_SLICES_H
#define JS_PROFILE_NAMED_SLICES_H

#include <stdint.h>

struct named_profile;

/*
 * Makes the time slices of a profile as wide as slice_ns, a multiple of what they are; of another
 * width they are dropped. Equal samples may be there twice afterwards.
 */
void named_slices_widen(struct named_profile *np, uint64_t slice_ns);

#endif
