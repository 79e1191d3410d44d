#include "sampler/views/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/views/frames.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/base/vec.h"

/* 11 days in slices of a second; a file could have any number of slices. */
enum { SLICES_MAX = 1000000 };

static enum timeline_part part_of(const struct named_line *l)
{
	switch (l->kind) {
	case NAMED_INTERPRETED: return PART_INTERPRETED;
	case NAMED_C1: return PART_C1;
	case NAMED_C2: return PART_C2;
	case NAMED_INLINED: return l->tier >= 1 && l->tier <= 3 ? PART_C1 : PART_C2;
	case NAMED_NATIVE:
	case NAMED_JAVA_NATIVE: return PART_NATIVE;
	case NAMED_KERNEL: return PART_KERNEL;
	default: return PART_OTHER;
	}
}

/* Methods by string id while counting; NULL: not seen. */
struct counting {
	const struct named_profile *np;
	struct timeline *t;
	uint32_t *method_of; /* by string id: position + 1 */
	VEC(struct timeline_method) methods;
};

static struct timeline_method *method_of(struct counting *c, uint32_t name)
{
	if (!c->method_of[name]) {
		if (!vec_push(&c->methods, (struct timeline_method){.name = name}))
			return NULL;
		c->method_of[name] = (uint32_t)c->methods.n;
	}
	return &c->methods.v[c->method_of[name] - 1];
}

static int count_method(struct counting *c, const struct named_line *l, const struct named_sample *s,
			enum timeline_part part)
{
	struct timeline_method *m = method_of(c, frame_name(c->np, l));
	uint32_t *cell;

	if (!m)
		return -ENOMEM;
	m->self += s->count;
	if (!s->slice)
		return 0;
	if (!m->first[part] || s->slice < m->first[part])
		m->first[part] = s->slice;
	cell = &m->column[(s->slice - 1) / c->t->slices_per_column][part];
	*cell = s->count > UINT32_MAX - *cell ? UINT32_MAX : *cell + (uint32_t)s->count;
	return 0;
}

static int count_sample(struct counting *c, const struct named_line *leaf, const struct named_sample *s)
{
	enum timeline_part part = part_of(leaf);

	if (s->slice) {
		c->t->slices[s->slice - 1].samples += s->count;
		c->t->slices[s->slice - 1].part[part] += s->count;
	} else {
		c->t->unsliced += s->count;
	}
	return (int)part < TIMELINE_TIERS ? count_method(c, leaf, s, part) : 0;
}

static void add_compilations(struct counting *c)
{
	for (uint32_t i = 1; i < c->np->n_functions; i++) {
		const struct named_function *f = &c->np->functions[i];

		if (c->method_of[f->name])
			named_compile_add(&c->methods.v[c->method_of[f->name] - 1].compile, &f->compile);
	}
}

static int most_first(const void *a, const void *b, void *profile)
{
	const struct timeline_method *x = a, *y = b;

	return descending(x->self, y->self) ?: strcmp(named_string(profile, x->name), named_string(profile, y->name));
}

static int count_all(struct counting *c)
{
	CLEANUP(frames_done) struct frames f = {0};
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < c->np->n_samples; i++) {
		const struct named_sample *s = &c->np->samples[i];

		r = frames_of(&f, c->np, s->stack);
		if (r == 0)
			r = count_sample(c, f.list.v[0], s);
	}
	if (r < 0)
		return r;
	add_compilations(c);
	if (c->methods.n)
		qsort_r(c->methods.v, c->methods.n, sizeof(*c->methods.v), most_first, (void *)c->np);
	return 0;
}

static int measure(const struct named_profile *np, struct timeline *t)
{
	t->slice_ns = np->meta.slice_ns;
	for (uint32_t i = 0; i < np->n_samples; i++)
		if (np->samples[i].slice > t->n_slices)
			t->n_slices = np->samples[i].slice;
	if (!t->slice_ns || !t->n_slices || t->n_slices > SLICES_MAX)
		return -ENODATA;
	t->slices_per_column = (t->n_slices + TIMELINE_COLUMNS - 1) / TIMELINE_COLUMNS;
	t->n_columns = (t->n_slices + t->slices_per_column - 1) / t->slices_per_column;
	t->slices = calloc(t->n_slices, sizeof(*t->slices));
	return t->slices ? 0 : -ENOMEM;
}

int timeline_build(const struct named_profile *np, struct timeline *ret)
{
	CLEANUP(free_at_exit)
	uint32_t *method_of_name = calloc(strtab_count(np->strings), sizeof(*method_of_name));
	struct timeline t = {0};
	struct counting c = {.np = np, .t = &t, .method_of = method_of_name};
	int r = method_of_name ? measure(np, &t) : -ENOMEM;

	if (r == 0)
		r = count_all(&c);
	t.methods = c.methods.v;
	t.n_methods = c.methods.n;
	if (r < 0) {
		timeline_done(&t);
		return r;
	}
	*ret = t;
	return 0;
}

void timeline_done(struct timeline *t)
{
	free(t->slices);
	free(t->methods);
	*t = (struct timeline){0};
}
