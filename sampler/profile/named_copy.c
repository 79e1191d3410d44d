#include "sampler/profile/named_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/named_builder.h"

static uint32_t *no_ids(uint32_t n)
{
	uint32_t *v = malloc(((size_t)n + 1) * sizeof(*v));

	if (v)
		memset(v, 0xff, ((size_t)n + 1) * sizeof(*v));
	return v;
}

int named_copy_init(struct named_copy *c, const struct named_profile *np, struct named_builder *b)
{
	*c = (struct named_copy){
		.np = np,
		.b = b,
		.strings = no_ids(strtab_count(np->strings)),
		.functions = no_ids(np->n_functions),
		.mappings = no_ids(np->n_mappings),
		.locations = no_ids(np->n_locations),
		.stacks = no_ids(np->n_stacks),
		.lines = calloc((size_t)np->n_lines + 1, sizeof(*c->lines)),
		.at = calloc((size_t)np->n_stack_locations + 1, sizeof(*c->at)),
	};
	if (!c->strings || !c->functions || !c->mappings || !c->locations || !c->stacks || !c->lines || !c->at)
		return -ENOMEM;
	return 0;
}

void named_copy_done(struct named_copy *c)
{
	free(c->strings);
	free(c->functions);
	free(c->mappings);
	free(c->locations);
	free(c->stacks);
	free(c->lines);
	free(c->at);
}

static uint32_t copy_string(struct named_copy *c, uint32_t id)
{
	if (c->strings[id] == UINT32_MAX)
		c->strings[id] = named_builder_string(c->b, named_string(c->np, id));
	return c->strings[id];
}

uint32_t named_copy_function(struct named_copy *c, uint32_t id)
{
	const struct named_function *f = &c->np->functions[id];
	struct named_compile compile = f->compile;

	if (!id || c->functions[id] != UINT32_MAX)
		return id ? c->functions[id] : 0;
	c->functions[id] = named_builder_function(c->b, named_string(c->np, f->name),
						  named_string(c->np, f->system_name), named_string(c->np, f->file));
	compile.why_interpreted = copy_string(c, compile.why_interpreted);
	named_builder_compile(c->b, c->functions[id], &compile);
	return c->functions[id];
}

uint32_t named_copy_mapping(struct named_copy *c, uint32_t id)
{
	const struct named_mapping *m = &c->np->mappings[id];

	if (!id || c->mappings[id] != UINT32_MAX)
		return id ? c->mappings[id] : 0;
	c->mappings[id] = named_builder_mapping(c->b, named_string(c->np, m->file), named_string(c->np, m->build_id));
	return c->mappings[id];
}

uint32_t named_copy_location(struct named_copy *c, uint32_t id)
{
	const struct named_location *l = &c->np->locations[id];

	if (!id || c->locations[id] != UINT32_MAX)
		return id ? c->locations[id] : 0;
	for (uint32_t i = 0; i < l->n_lines; i++) {
		c->lines[i] = c->np->lines[l->first_line + i];
		c->lines[i].function = named_copy_function(c, c->lines[i].function);
	}
	c->locations[id] =
		named_builder_location(c->b, named_copy_mapping(c, l->mapping), l->address, c->lines, l->n_lines);
	return c->locations[id];
}

uint32_t named_copy_stack(struct named_copy *c, uint32_t id)
{
	const struct named_stack *s = &c->np->stacks[id];

	if (c->stacks[id] != UINT32_MAX)
		return c->stacks[id];
	for (uint32_t i = 0; i < s->n; i++)
		c->at[i] = named_copy_location(c, c->np->stack_locations[s->first + i]);
	c->stacks[id] = named_builder_stack(c->b, c->at, s->n);
	return c->stacks[id];
}

bool named_copy_sample(struct named_copy *c, struct named_sample s)
{
	s.stack = named_copy_stack(c, s.stack);
	s.thread = copy_string(c, s.thread);
	s.state = copy_string(c, s.state);
	return named_builder_sample(c->b, &s) != UINT32_MAX;
}
