#include <math.h>

#include "sampler/diff/diff.h"
#include "sampler/diff/judge.h"
#include "sampler/diff/t_distribution.h"

double diff_freedom(const struct diff *d)
{
	return d->spread ? judge_spread_freedom(d) + DIFF_PRIOR_FILES : 0;
}

double judge_spread_freedom(const struct diff *d)
{
	return (double)d->n_all - DIFF_SIDES;
}

double judge_phi(const struct diff *d, const struct diff_count *count)
{
	double sum = 0, freedom = judge_spread_freedom(d);

	for (size_t i = 0; i < d->n_all; i++) {
		enum diff_side side = i < d->n_files[DIFF_BEFORE] ? DIFF_BEFORE : DIFF_AFTER;
		double p = (double)count->side[side] / (double)d->samples[side];
		double expected = p * (double)d->file_samples[i];
		double off = (double)count->file[i] - expected;

		if (expected > 0 && p < 1)
			sum += off * off / (expected * (1 - p));
	}
	return freedom > 0 ? sum / freedom : 1;
}

double judge_room(const struct diff *d, const struct diff_count *count)
{
	double all = (double)d->samples[DIFF_BEFORE] + (double)d->samples[DIFF_AFTER];
	double p = (double)(count->side[DIFF_BEFORE] + count->side[DIFF_AFTER]) / all;

	return all / (double)d->n_all * p * (1 - p);
}

/* This method's spread, averaged with the typical one; see diff.h. */
static double drawn_phi(const struct diff *d, const struct diff_count *count, double c2)
{
	double typical = 1 + c2 * judge_room(d, count);
	double freedom = judge_spread_freedom(d), phi;

	if (!d->spread)
		return 1;
	phi = (freedom * judge_phi(d, count) + DIFF_PRIOR_FILES * typical) / (freedom + DIFF_PRIOR_FILES);
	return phi > 1 ? phi : 1;
}

static double variance(uint64_t part, uint64_t whole)
{
	double n = (double)whole + 2, p = ((double)part + 1) / n;

	return p * (1 - p) / n;
}

struct diff_change diff_judge(const struct diff *d, const struct diff_count *count, double c2)
{
	struct diff_change c = {0};
	double v = 0, se;

	for (int side = 0; side < DIFF_SIDES; side++) {
		c.share[side] = (double)count->side[side] / (double)d->samples[side];
		v += variance(count->side[side], d->samples[side]);
	}
	c.delta = c.share[DIFF_AFTER] - c.share[DIFF_BEFORE];
	se = sqrt(drawn_phi(d, count, c2) * v);
	c.t = c.delta / se;
	c.p = t_distribution_p(c.t, diff_freedom(d));
	c.error = d->quantile * se;
	return c;
}
