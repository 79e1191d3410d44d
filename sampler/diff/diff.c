#include "sampler/diff/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/diff/judge.h"
#include "sampler/diff/t_distribution.h"
#include "sampler/model/named_profile.h"
#include "sampler/output/flat.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/sorted.h"

/* Methods with fewer samples per file do not show a typical spread. */
static const double ENOUGH_SAMPLES = 400;
static const double ONE_FILE_MIN_EFFECT = 0.01;
/* Methods with a smaller share are not judged: each method judged makes all others harder to tell from chance. */
static const double LEAST_SHARE = 0.001;

/* Counts of all methods: `self` and `total` have n_all numbers per string id. */
struct counts {
	uint64_t *self, *total;
	size_t cap; /* capacity in string ids */
};

static void counts_done(struct counts *c)
{
	free(c->self);
	free(c->total);
}

static int grow(uint64_t **list, size_t from, size_t to, size_t width)
{
	uint64_t *p;

	if (to > SIZE_MAX / sizeof(*p) / width || !(p = realloc(*list, to * width * sizeof(*p))))
		return -ENOMEM;
	memset(p + from * width, 0, (to - from) * width * sizeof(*p));
	*list = p;
	return 0;
}

static int make_room(struct counts *c, size_t id, size_t width)
{
	size_t cap = c->cap ? c->cap : 1024;

	if (id < c->cap)
		return 0;
	while (cap <= id)
		cap *= 2;
	if (grow(&c->self, c->cap, cap, width) < 0 || grow(&c->total, c->cap, cap, width) < 0)
		return -ENOMEM;
	c->cap = cap;
	return 0;
}

static int add_file(struct diff *d, struct counts *c, const struct named_profile *np, size_t file)
{
	CLEANUP(flat_done) struct flat f = {0};

	if (flat_build(np, &f) < 0)
		return -ENOMEM;
	d->file_samples[file] = f.samples;
	d->samples[file < d->n_files[DIFF_BEFORE] ? DIFF_BEFORE : DIFF_AFTER] += f.samples;
	for (size_t i = 0; i < f.n; i++) {
		const char *name = named_string(np, f.rows[i].name);
		uint32_t id = strtab_add_z(d->strings, *name ? name : "[unknown]");

		if (id == UINT32_MAX || make_room(c, id, d->n_all) < 0)
			return -ENOMEM;
		c->self[id * d->n_all + file] += f.rows[i].self;
		c->total[id * d->n_all + file] += f.rows[i].total;
	}
	return 0;
}

static struct diff_count count_of(const struct diff *d, const uint64_t *counts, uint32_t id)
{
	struct diff_count c = {.file = counts + (size_t)id * d->n_all};

	for (size_t i = 0; i < d->n_all; i++)
		c.side[i < d->n_files[DIFF_BEFORE] ? DIFF_BEFORE : DIFF_AFTER] += c.file[i];
	return c;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return ascending(x, y);
}

/*
 * The square of the relative spread that half of the methods with enough samples exceed, computed from their phi. The
 * median of chi^2 / df is below its mean 1 by nearly that factor (Wilson and Hilferty).
 */
static int typical_spread(const struct diff *d, const uint64_t *counts, double *ret)
{
	uint32_t names = strtab_count(d->strings), n = 0;
	CLEANUP(free_at_exit) double *list = calloc(names, sizeof(*list));
	double freedom = judge_spread_freedom(d), below;

	*ret = 0;
	if (!list)
		return -ENOMEM;
	if (!d->spread)
		return 0;
	below = pow(1 - 2 / (9 * freedom), 3);
	for (uint32_t id = 1; id < names; id++) {
		struct diff_count c = count_of(d, counts, id);
		double room = judge_room(d, &c);

		if (room >= ENOUGH_SAMPLES)
			list[n++] = (judge_phi(d, &c) / below - 1) / room;
	}
	if (!n)
		return 0;
	qsort(list, n, sizeof(*list), by_value);
	*ret = n % 2 ? list[n / 2] : (list[n / 2 - 1] + list[n / 2]) / 2;
	*ret = *ret > 0 ? *ret : 0;
	return 0;
}

static const struct diff_change *judged(const struct diff *d, const struct diff_row *r)
{
	return d->by_total ? &r->total : &r->self;
}

bool diff_has_enough(const struct diff *d, const uint64_t count[DIFF_SIDES])
{
	return (double)(count[DIFF_BEFORE] + count[DIFF_AFTER]) >=
	       LEAST_SHARE * (double)(d->samples[DIFF_BEFORE] + d->samples[DIFF_AFTER]);
}

static bool is_judged(const struct diff *d, const struct diff_row *r)
{
	return diff_has_enough(d, d->by_total ? r->total_count : r->self_count);
}

/* Sorts by t, since the probabilities of the clearest changes all become 0. */
static int compare_rows(const void *a, const void *b, void *context)
{
	const struct diff_row *x = a, *y = b;
	const struct diff *d = context;
	double tx = fabs(judged(d, x)->t), ty = fabs(judged(d, y)->t);
	int r = descending(x->changed, y->changed);

	if (!r)
		r = descending(is_judged(d, x), is_judged(d, y));
	if (!r)
		r = descending(tx, ty);
	return r ?: strcmp(strtab_get(d->strings, x->name), strtab_get(d->strings, y->name));
}

static int make_rows(struct diff *d, const struct counts *c)
{
	uint32_t names = strtab_count(d->strings);

	d->rows = calloc(names, sizeof(*d->rows));
	if (!d->rows)
		return -ENOMEM;
	for (uint32_t id = 1; id < names; id++) {
		struct diff_row *r = &d->rows[d->n];
		struct diff_count self = count_of(d, c->self, id), total = count_of(d, c->total, id);

		r->name = id;
		memcpy(r->self_count, self.side, sizeof(self.side));
		memcpy(r->total_count, total.side, sizeof(total.side));
		r->self = diff_judge(d, &self, d->c2_self);
		r->total = diff_judge(d, &total, d->c2_total);
		d->n++;
	}
	return 0;
}

static void judge_rows(struct diff *d)
{
	for (size_t i = 0; i < d->n; i++)
		d->n_judged += is_judged(d, &d->rows[i]);
	for (size_t i = 0; i < d->n; i++) {
		struct diff_row *r = &d->rows[i];
		const struct diff_change *c = judged(d, r);

		r->adjusted = is_judged(d, r) ? fmin(1, c->p * (double)d->n_judged) : 1;
		r->changed = r->adjusted < 0.05 && fabs(c->delta) >= d->min_effect;
		d->n_changed += r->changed;
	}
}

static int count_all(struct diff *d, struct counts *c, const struct named_profile *const *profiles, struct err *err)
{
	static const char *const sides[] = {"before", "after"};

	for (size_t i = 0; i < d->n_all; i++)
		if (add_file(d, c, profiles[i], i) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	for (int side = 0; side < DIFF_SIDES; side++)
		if (!d->samples[side])
			return err_set(err, -EINVAL, "no samples %s: nothing to compare", sides[side]);
	if (make_room(c, strtab_count(d->strings), d->n_all) < 0 || typical_spread(d, c->self, &d->c2_self) < 0 ||
	    typical_spread(d, c->total, &d->c2_total) < 0 || make_rows(d, c) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

int diff_build(const struct named_profile *const *profiles, size_t n_before, size_t n_after,
	       const struct diff_options *o, struct diff *ret, struct err *err)
{
	CLEANUP(counts_done) struct counts c = {0};
	struct diff d = {.n_files = {n_before, n_after}, .n_all = n_before + n_after, .by_total = o->by_total};
	int r;

	d.strings = strtab_new();
	d.file_samples = calloc(d.n_all + 1, sizeof(*d.file_samples));
	d.spread = d.n_all > DIFF_SIDES;
	d.quantile = t_distribution_quantile(0.05, diff_freedom(&d));
	d.min_effect = o->min_effect >= 0 ? o->min_effect : d.spread ? 0 : ONE_FILE_MIN_EFFECT;
	r = d.strings && d.file_samples ? count_all(&d, &c, profiles, err) : err_set(err, -ENOMEM, "out of memory");
	if (r < 0) {
		diff_done(&d);
		return r;
	}
	judge_rows(&d);
	qsort_r(d.rows, d.n, sizeof(*d.rows), compare_rows, &d);
	*ret = d;
	return 0;
}

void diff_done(struct diff *d)
{
	strtab_free(d->strings);
	free(d->file_samples);
	free(d->rows);
	d->strings = NULL;
	d->file_samples = NULL;
	d->rows = NULL;
}
