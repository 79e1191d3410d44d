#include "sampler/views/frames.h"

#include <errno.h>

static const struct named_line no_line = {.kind = NAMED_UNKNOWN, .bci = -1};

static bool add_location(struct frames *f, const struct named_profile *np, uint32_t location)
{
	const struct named_location *loc = &np->locations[location];

	for (uint32_t i = 0; i < loc->n_lines; i++)
		if (!vec_push(&f->list, &np->lines[loc->first_line + i]))
			return false;
	return loc->n_lines || vec_push(&f->list, &no_line);
}

int frames_of(struct frames *f, const struct named_profile *np, uint32_t stack)
{
	const struct named_stack *s = &np->stacks[stack];

	f->list.n = 0;
	for (uint32_t k = 0; k < s->n; k++)
		if (!add_location(f, np, np->stack_locations[s->first + k]))
			return -ENOMEM;
	return s->n || vec_push(&f->list, &no_line) ? 0 : -ENOMEM;
}

void frames_done(struct frames *f)
{
	vec_done(&f->list);
}

const char *frame_name_text(const struct named_profile *np, uint32_t name)
{
	const char *s = named_string(np, name);

	return *s ? s : "[unknown]";
}
