#include "sampler/profile/named_slices.h"

#include "sampler/model/named_profile.h"

void named_slices_widen(struct named_profile *np, uint64_t slice_ns)
{
	uint64_t old = np->meta.slice_ns, times = old && slice_ns % old == 0 ? slice_ns / old : 0;

	if (old == slice_ns)
		return;
	for (uint32_t i = 0; i < np->n_samples; i++) {
		uint32_t *slice = &np->samples[i].slice;

		*slice = times && *slice ? (uint32_t)((*slice - 1) / times + 1) : 0;
	}
	np->meta.slice_ns = times ? slice_ns : 0;
}
