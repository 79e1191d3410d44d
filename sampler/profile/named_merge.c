#include "sampler/profile/named_builder.h"

#include <errno.h>

#include "sampler/profile/named_copy.h"
#include "symbolizer/base/cleanup.h"

static bool is_process_root(const struct named_profile *np, uint32_t location)
{
	const struct named_location *l = &np->locations[location];

	return l->n_lines && np->lines[l->first_line].kind == NAMED_PROCESS;
}

void named_profile_drop_process_root(struct named_profile *np)
{
	for (uint32_t i = 0; i < np->n_stacks; i++) {
		struct named_stack *st = &np->stacks[i];

		if (st->n && is_process_root(np, np->stack_locations[st->first + st->n - 1]))
			st->n--;
	}
}

static bool copy_all(struct named_copy *c)
{
	const struct named_profile *np = c->np;
	bool slices = np->meta.slice_ns == named_builder_meta(c->b)->slice_ns, ok = true;

	for (uint32_t i = 1; ok && i < np->n_functions; i++)
		ok = named_copy_function(c, i) != UINT32_MAX;
	for (uint32_t i = 1; ok && i < np->n_mappings; i++)
		ok = named_copy_mapping(c, i) != UINT32_MAX;
	for (uint32_t i = 1; ok && i < np->n_locations; i++)
		ok = named_copy_location(c, i) != UINT32_MAX;
	for (uint32_t i = 0; ok && i < np->n_stacks; i++)
		ok = named_copy_stack(c, i) != UINT32_MAX;
	for (uint32_t i = 0; ok && i < np->n_samples; i++) {
		struct named_sample s = np->samples[i];

		s.slice = slices ? s.slice : 0;
		ok = named_copy_sample(c, s);
	}
	return ok;
}

int named_builder_add(struct named_builder *b, const struct named_profile *np)
{
	CLEANUP(named_copy_done) struct named_copy c;

	return named_copy_init(&c, np, b) == 0 && copy_all(&c) ? 0 : -ENOMEM;
}
