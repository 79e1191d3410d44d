#include "sampler/profile/named_filter.h"

#include <errno.h>
#include <regex.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sampler/model/named_profile.h"
#include "sampler/profile/named_builder.h"
#include "sampler/profile/named_copy.h"
#include "symbolizer/base/err.h"

/* Compiled expressions, of which one must match. */
struct matcher {
	regex_t *re;
	size_t n;
};

/* How the filter sees a name: found once per function, then passed on to stacks. */
enum { IS_INCLUDED = 1, IS_EXCLUDED = 2 };

struct filter_run {
	const struct named_profile *np;
	struct matcher include, exclude, threads;
	uint32_t leaf_kinds;
	uint8_t *functions; /* IS_* by function */
	uint8_t *stacks; /* IS_* by stack */
	struct named_builder *b;
	struct named_copy copy; /* into b */
};

static void matcher_done(struct matcher *m)
{
	for (size_t i = 0; i < m->n; i++)
		regfree(&m->re[i]);
	free(m->re);
	*m = (struct matcher){0};
}

static int matcher_init(struct matcher *m, const char *const *text, size_t n, struct err *err)
{
	char why[128];
	int rc;

	*m = (struct matcher){.re = calloc(n ? n : 1, sizeof(*m->re))};
	if (!m->re)
		return err_set(err, -ENOMEM, "out of memory");
	for (; m->n < n; m->n++) {
		rc = regcomp(&m->re[m->n], text[m->n], REG_EXTENDED | REG_NOSUB);
		if (!rc)
			continue;
		regerror(rc, &m->re[m->n], why, sizeof(why));
		return err_set(err, -EINVAL, "regular expression '%s': %s", text[m->n], why);
	}
	return 0;
}

static bool matches(const struct matcher *m, const char *text)
{
	for (size_t i = 0; i < m->n; i++)
		if (!regexec(&m->re[i], text, 0, NULL, 0))
			return true;
	return false;
}

static void run_done(struct filter_run *r)
{
	matcher_done(&r->include);
	matcher_done(&r->exclude);
	matcher_done(&r->threads);
	free(r->functions);
	free(r->stacks);
	named_copy_done(&r->copy);
	named_builder_free(r->b);
}

static int run_init(struct filter_run *r, const struct named_profile *np, const struct named_filter *f, struct err *err)
{
	int rc;

	*r = (struct filter_run){.np = np, .leaf_kinds = f->leaf_kinds};
	if ((rc = matcher_init(&r->include, f->include, f->n_include, err)) ||
	    (rc = matcher_init(&r->exclude, f->exclude, f->n_exclude, err)) ||
	    (rc = matcher_init(&r->threads, &f->include_threads, f->include_threads != NULL, err)))
		return rc;
	r->functions = calloc((size_t)np->n_functions + 1, 1);
	r->stacks = calloc((size_t)np->n_stacks + 1, 1);
	r->b = named_builder_new();
	if (!r->functions || !r->stacks || !r->b || named_copy_init(&r->copy, np, r->b) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static void judge_functions(struct filter_run *r)
{
	for (uint32_t i = 0; i < r->np->n_functions; i++) {
		const char *name = named_string(r->np, r->np->functions[i].name);

		r->functions[i] =
			(matches(&r->include, name) ? IS_INCLUDED : 0) | (matches(&r->exclude, name) ? IS_EXCLUDED : 0);
	}
}

static void judge_stacks(struct filter_run *r)
{
	const struct named_profile *np = r->np;

	for (uint32_t s = 0; s < np->n_stacks; s++) {
		const uint32_t *at = np->stack_locations + np->stacks[s].first;

		for (uint32_t i = 0; i < np->stacks[s].n; i++) {
			const struct named_location *l = &np->locations[at[i]];

			for (uint32_t j = 0; j < l->n_lines; j++)
				r->stacks[s] |= r->functions[np->lines[l->first_line + j].function];
		}
	}
}

static enum named_kind leaf_kind(const struct named_profile *np, const struct named_stack *s)
{
	const struct named_location *l = s->n ? &np->locations[np->stack_locations[s->first]] : NULL;

	return l && l->n_lines ? np->lines[l->first_line].kind : NAMED_UNKNOWN;
}

static bool wanted(const struct filter_run *r, const struct named_sample *s)
{
	if (r->leaf_kinds && !(r->leaf_kinds >> leaf_kind(r->np, &r->np->stacks[s->stack]) & 1))
		return false;
	if (r->include.n && !(r->stacks[s->stack] & IS_INCLUDED))
		return false;
	if (r->stacks[s->stack] & IS_EXCLUDED)
		return false;
	return !r->threads.n || matches(&r->threads, named_string(r->np, s->thread));
}

static int run(struct filter_run *r, struct named_filter_result *result, struct err *err)
{
	const struct named_profile *np = r->np;

	judge_functions(r);
	judge_stacks(r);
	/* The program's mapping stays the first. */
	if (np->n_mappings > 1)
		named_copy_mapping(&r->copy, 1);
	for (uint32_t i = 0; i < np->n_samples; i++) {
		if (!wanted(r, &np->samples[i])) {
			result->dropped += np->samples[i].count;
			continue;
		}
		result->kept += np->samples[i].count;
		if (!named_copy_sample(&r->copy, np->samples[i]))
			return err_set(err, -ENOMEM, "out of memory");
	}
	named_builder_copy_meta(r->b, &np->meta);
	return 0;
}

int named_filter_apply(const struct named_profile *np, const struct named_filter *f, struct named_profile **ret,
		       struct named_filter_result *result, struct err *err)
{
	struct named_filter_result counts = {0};
	struct named_profile *kept = NULL;
	struct filter_run r;
	int rc = run_init(&r, np, f, err);

	if (!rc && !(rc = run(&r, &counts, err))) {
		kept = named_builder_take(r.b);
		r.b = NULL;
		rc = kept ? 0 : err_set(err, -ENOMEM, "out of memory");
	}
	run_done(&r);
	if (rc)
		return rc;
	*ret = kept;
	if (result)
		*result = counts;
	return 0;
}
