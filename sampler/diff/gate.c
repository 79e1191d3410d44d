#include "sampler/diff/gate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "sampler/model/named_profile.h"
#include "sampler/views/frames.h"
#include "sampler/views/name_pattern.h"
#include "symbolizer/base/cleanup.h"

const double GATE_P = 0.01;

bool gate_is_beyond(const struct gate *g, const struct diff_change *c)
{
	double change = 100 * c->delta;

	if (g->relative && c->share[DIFF_BEFORE] > 0)
		change = 100 * c->delta / c->share[DIFF_BEFORE];
	else if (g->relative)
		change = c->delta > 0 ? INFINITY : 0;
	/* Shares are quotients, so equal ones may differ in their last digits. */
	if (fabs(change - g->limit) < 1e-9)
		return g->or_equal;
	return g->less ? change < g->limit : change > g->limit;
}

static int count_file(const struct gate *g, const struct named_profile *np, uint64_t *ret)
{
	CLEANUP(free_at_exit) uint8_t *ids = NULL;
	CLEANUP(frames_done) struct frames f = {0};
	uint32_t matches, one;

	ids = name_pattern_ids(g->pattern, np, &matches, &one);
	if (!ids)
		return -ENOMEM;
	for (uint32_t i = 0; matches && i < np->n_samples; i++) {
		bool hit = false;

		if (frames_of(&f, np, np->samples[i].stack) < 0)
			return -ENOMEM;
		for (size_t k = 0; k < (g->total ? f.list.n : 1) && !hit; k++)
			hit = ids[frame_name(np, f.list.v[k])] && !named_is_root_label(f.list.v[k]);
		*ret += hit ? np->samples[i].count : 0;
	}
	return 0;
}

bool gate_matches(const struct gate *g, const struct diff *d, const struct diff_row *r)
{
	return name_pattern_matches(g->pattern, strtab_get(d->strings, r->name));
}

static int judge_set(const struct gate *g, const struct diff *d, const struct named_profile *const *profiles,
		     struct gate_result *res)
{
	CLEANUP(free_at_exit) uint64_t *files = calloc(d->n_all, sizeof(*files));
	struct diff_count count = {.file = files};

	if (!files)
		return -ENOMEM;
	for (size_t i = 0; i < d->n_all; i++) {
		if (count_file(g, profiles[i], &files[i]) < 0)
			return -ENOMEM;
		count.side[i < d->n_files[DIFF_BEFORE] ? DIFF_BEFORE : DIFF_AFTER] += files[i];
	}
	res->change = diff_judge(d, &count, g->total ? d->c2_total : d->c2_self);
	res->failed = gate_is_beyond(g, &res->change) && res->change.p < GATE_P;
	return 0;
}

/* The clearest change beyond the limit; if there is none, the clearest of all. */
static void judge_each(const struct gate *g, const struct diff *d, struct gate_result *res)
{
	bool have = false, have_beyond = false;
	size_t judged = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct diff_change *c = g->total ? &d->rows[i].total : &d->rows[i].self;
		bool beyond;

		if (!gate_matches(g, d, &d->rows[i]) ||
		    !diff_has_enough(d, g->total ? d->rows[i].total_count : d->rows[i].self_count))
			continue;
		judged++;
		beyond = gate_is_beyond(g, c);
		if (have && (have_beyond > beyond || (have_beyond == beyond && fabs(c->t) <= fabs(res->change.t))))
			continue;
		res->change = *c;
		res->worst = d->rows[i].name;
		have = true;
		have_beyond = beyond;
	}
	res->failed = have_beyond && res->change.p * (double)judged < GATE_P;
}

int gate_judge(const struct gate *g, const struct diff *d, const struct named_profile *const *profiles,
	       struct gate_result *ret)
{
	struct gate_result res = {0};
	int r = 0;

	for (size_t i = 0; i < d->n; i++)
		res.matches += gate_matches(g, d, &d->rows[i]);
	if (g->any)
		judge_each(g, d, &res);
	else
		r = judge_set(g, d, profiles, &res);
	if (r == 0)
		*ret = res;
	return r;
}
