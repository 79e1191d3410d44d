#include "sampler/profile/named_builder.h"

#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/cleanup.h"

/* Maps ids of the added profile to ids in the builder, filled in on demand. */
struct merge {
	struct named_builder *b;
	const struct named_profile *np;
	uint32_t *functions, *mappings, *locations, *stacks;
};

static void merge_done(struct merge *m)
{
	free(m->functions);
	free(m->mappings);
	free(m->locations);
	free(m->stacks);
}

static uint32_t *id_table(uint32_t n)
{
	return calloc((size_t)n + 1, sizeof(uint32_t));
}

static uint32_t merge_function(struct merge *m, const struct named_function *f)
{
	const struct named_profile *np = m->np;
	struct named_compile c = f->compile;
	uint32_t id = named_builder_function(m->b, named_string(np, f->name), named_string(np, f->system_name),
					     named_string(np, f->file));

	c.why_interpreted = named_builder_string(m->b, named_string(np, c.why_interpreted));
	named_builder_compile(m->b, id, &c);
	return id;
}

static int merge_functions(struct merge *m)
{
	const struct named_profile *np = m->np;

	for (uint32_t i = 1; i < np->n_functions; i++) {
		m->functions[i] = merge_function(m, &np->functions[i]);
		if (m->functions[i] == UINT32_MAX)
			return -ENOMEM;
	}
	for (uint32_t i = 1; i < np->n_mappings; i++) {
		const struct named_mapping *g = &np->mappings[i];

		m->mappings[i] = named_builder_mapping(m->b, named_string(np, g->file), named_string(np, g->build_id));
		if (m->mappings[i] == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

static uint32_t merge_location(struct merge *m, const struct named_location *l, struct named_line *lines)
{
	for (uint32_t k = 0; k < l->n_lines; k++) {
		lines[k] = m->np->lines[l->first_line + k];
		lines[k].function = m->functions[lines[k].function];
	}
	return named_builder_location(m->b, m->mappings[l->mapping], l->address, lines, l->n_lines);
}

static int merge_locations(struct merge *m)
{
	CLEANUP(free_at_exit)
	struct named_line *lines = calloc((size_t)m->np->n_lines + 1, sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	for (uint32_t i = 1; i < m->np->n_locations; i++) {
		m->locations[i] = merge_location(m, &m->np->locations[i], lines);
		if (m->locations[i] == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

static int merge_stacks(struct merge *m)
{
	const struct named_profile *np = m->np;
	CLEANUP(free_at_exit) uint32_t *ids = id_table(np->n_stack_locations);

	if (!ids)
		return -ENOMEM;
	for (uint32_t i = 0; i < np->n_stacks; i++) {
		const struct named_stack *st = &np->stacks[i];

		for (uint32_t k = 0; k < st->n; k++)
			ids[k] = m->locations[np->stack_locations[st->first + k]];
		m->stacks[i] = named_builder_stack(m->b, ids, st->n);
		if (m->stacks[i] == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

static int merge_samples(struct merge *m)
{
	bool slices = m->np->meta.slice_ns == named_builder_meta(m->b)->slice_ns;

	for (uint32_t i = 0; i < m->np->n_samples; i++) {
		struct named_sample s = m->np->samples[i];

		s.stack = m->stacks[s.stack];
		s.slice = slices ? s.slice : 0;
		s.thread = named_builder_string(m->b, named_string(m->np, s.thread));
		s.state = named_builder_string(m->b, named_string(m->np, s.state));
		if (s.thread == UINT32_MAX || s.state == UINT32_MAX || named_builder_sample(m->b, &s) == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

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

int named_builder_add(struct named_builder *b, const struct named_profile *np)
{
	CLEANUP(merge_done)
	struct merge m = {
		.b = b,
		.np = np,
		.functions = id_table(np->n_functions),
		.mappings = id_table(np->n_mappings),
		.locations = id_table(np->n_locations),
		.stacks = id_table(np->n_stacks),
	};
	int r;

	if (!m.functions || !m.mappings || !m.locations || !m.stacks)
		return -ENOMEM;
	r = merge_functions(&m);
	if (r == 0)
		r = merge_locations(&m);
	if (r == 0)
		r = merge_stacks(&m);
	return r < 0 ? r : merge_samples(&m);
}
