#include "sampler/diff/diff_tiers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/model/named_profile.h"
#include "sampler/output/columns.h"
#include "sampler/output/share.h"
#include "sampler/views/tiers.h"
#include "sampler/views/view_head.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/sorted.h"

static const struct table_column columns[] = {
	{NULL, "before", 10, 2},
	{NULL, " how", -16, 0},
	{NULL, "after", 10, 2},
	{NULL, " how", -16, 0},
	{NULL, "speed-up", 8, 0},
	{NULL, "±95%", 6, 0},
	{"before", NULL, 0, 0},
	{"before_weight", NULL, 0, 0},
	{"before_interpreted", NULL, 0, 0},
	{"before_compiled", NULL, 0, 0},
	{"after", NULL, 0, 0},
	{"after_weight", NULL, 0, 0},
	{"after_interpreted", NULL, 0, 0},
	{"after_compiled", NULL, 0, 0},
	{"speed_up", NULL, 0, 0},
	{"speed_up_error", NULL, 0, 0},
	{"method", " method", 0, 0},
};

enum { N_COLUMNS = sizeof(columns) / sizeof(columns[0]) };

/* One method on both sides. */
struct pair {
	const char *name;
	struct tier_row side[2];
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct pair *)a)->name, ((const struct pair *)b)->name);
}

static int by_time(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	uint64_t tx = x->side[0].self_weight + x->side[1].self_weight;
	uint64_t ty = y->side[0].self_weight + y->side[1].self_weight;

	return descending(tx, ty) ?: by_name(a, b);
}

/* Puts the rows of both sides together, then merges those with the same name. */
static size_t pair_up(struct pair *pairs, size_t n)
{
	size_t to = 0;

	qsort(pairs, n, sizeof(*pairs), by_name);
	for (size_t i = 0; i < n; i++) {
		if (to && strcmp(pairs[to - 1].name, pairs[i].name) == 0) {
			int side = pairs[i].side[1].self != 0;

			pairs[to - 1].side[side] = pairs[i].side[side];
		} else {
			pairs[to++] = pairs[i];
		}
	}
	qsort(pairs, to, sizeof(*pairs), by_time);
	return to;
}

/* The speed-up, and half of its 95 % interval: counts are Poisson, and squared relative errors of quotients add up. */
static double speed_up(const struct pair *p, double work, double *ret_error)
{
	const struct tier_row *b = &p->side[0], *a = &p->side[1];
	double s;

	*ret_error = NAN;
	if (!b->self || !a->self || !a->self_weight)
		return NAN;
	s = (double)b->self_weight * work / (double)a->self_weight;
	*ret_error = 1.96 * s * sqrt(1 / (double)b->self + 1 / (double)a->self);
	return s;
}

/* "interpreted 97": how most of it ran, in percent. */
static void put_how(struct table *t, const struct tier_row *r)
{
	char text[48];
	int best = 0;

	for (int k = 1; k < TIERS; k++)
		if (r->samples[k] > r->samples[best])
			best = k;
	snprintf(text, sizeof(text), "%s %.0f", tier_name((enum tier)best), share_percent(r->samples[best], r->self));
	table_text(t, r->self ? text : "-");
}

static void put_text(struct table *t, const struct named_meta *m, const struct pair *p, double s, double e)
{
	char text[32] = "-";

	for (int side = 0; side < 2; side++) {
		table_number(t, view_amount(m, p->side[side].self_weight));
		put_how(t, &p->side[side]);
	}
	if (isfinite(s))
		snprintf(text, sizeof(text), s < 10 ? "%.2f" : "%.0f", s);
	table_text(t, text);
	if (isfinite(e))
		snprintf(text, sizeof(text), s < 10 ? "%.2f" : "%.0f", e);
	table_text(t, text);
}

static void put_pair(struct table *t, const struct named_meta *m, const struct pair *p, double work)
{
	double error, s = speed_up(p, work, &error);

	put_text(t, m, p, s, error);
	for (int side = 0; side < 2; side++) {
		const struct tier_row *r = &p->side[side];

		table_count(t, r->self);
		table_count(t, r->self_weight);
		table_count(t, r->samples[TIER_INTERPRETED]);
		table_count(t, r->self - r->samples[TIER_INTERPRETED]);
	}
	table_number(t, s);
	table_number(t, error);
	table_text(t, p->name);
}

static void put_side(const struct named_meta *m, const char *side, const struct tiers *t, size_t width, FILE *out)
{
	int used = fprintf(out, "%s %10.2f%s: ", side, view_amount(m, t->weight), named_is_time(m) ? " s" : "");
	struct buf b = {0};

	for (int k = 0; k < TIERS; k++)
		if (t->all.samples[k])
			buf_printf(&b, "%s %.1f %%, ", tier_name((enum tier)k),
				   share_percent(t->all.samples[k], t->samples));
	buf_printf(&b, "no Java code %.1f %%", share_percent(t->samples - t->all.self, t->samples));
	columns_wrap(out, b.failed ? "?" : b.data, used > 0 ? (size_t)used : 0, strlen(side) + 1, width);
	buf_done(&b);
}

static void put_json_side(const char *side, const struct tiers *t, struct json *json)
{
	json_member_open(json, side, '{');
	json_member_uint(json, "samples", t->samples);
	json_member_uint(json, "weight", t->weight);
	json_close(json, '}');
}

static void put_json_head(const struct named_meta *m, const struct tiers t[2], double work, struct json *json)
{
	char text[32];

	snprintf(text, sizeof(text), "%.9g", work);
	json_open(json, '{');
	json_member_text(json, "unit", named_is_time(m) ? "nanoseconds" : "");
	json_key(json, "work");
	json_raw(json, text);
	put_json_side("before", &t[0], json);
	put_json_side("after", &t[1], json);
}

static void put_text_head(const struct named_meta *m, const struct tiers t[2], const struct diff_tiers_options *o,
			  FILE *out)
{
	put_side(m, "before", &t[0], o->width, out);
	put_side(m, "after ", &t[1], o->width, out);
	if (o->work == 1)
		fputs("speed-ups hold if both sides did the same work (--work)\n\n", out);
	else
		fprintf(out, "the after side did %g times the work\n\n", o->work);
}

static void print(const struct named_meta *m, const struct tiers t[2], const struct pair *pairs, size_t n,
		  const struct diff_tiers_options *o, FILE *out)
{
	size_t shown = o->rows && o->rows < n ? o->rows : n;
	struct table_column shown_columns[N_COLUMNS];
	struct json json = {.out = out};
	struct table table;

	memcpy(shown_columns, columns, sizeof(columns));
	for (int i = 0; i < N_COLUMNS; i++)
		shown_columns[i].decimals = named_is_time(m) ? columns[i].decimals : 0;
	if (o->format == TABLE_JSON)
		put_json_head(m, t, o->work, &json);
	else if (o->format == TABLE_TEXT)
		put_text_head(m, t, o, out);
	table_begin(&table, &json, o->format, o->width, shown_columns, N_COLUMNS);
	for (size_t i = 0; i < shown; i++)
		put_pair(&table, m, &pairs[i], o->work);
	table_end(&table);
	if (shown < n && o->format == TABLE_TEXT)
		fprintf(out, "and %zu more (-n 0 shows all)\n", n - shown);
	view_foot(o->format, &json);
}

static void tiers_done_both(struct tiers (*t)[2])
{
	tiers_done(&(*t)[0]);
	tiers_done(&(*t)[1]);
}

int diff_tiers_print(const struct named_profile *before, const struct named_profile *after,
		     const struct diff_tiers_options *o, FILE *out, struct err *err)
{
	const struct named_profile *const sides[2] = {before, after};
	CLEANUP(tiers_done_both) struct tiers t[2] = {{0}};
	CLEANUP(free_at_exit) struct pair *pairs = NULL;
	size_t n = 0;

	for (int side = 0; side < 2; side++)
		if (tiers_build(sides[side], &t[side]) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	pairs = calloc(t[0].n + t[1].n + 1, sizeof(*pairs));
	if (!pairs)
		return err_set(err, -ENOMEM, "out of memory");
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < t[side].n; i++) {
			pairs[n].name = named_string(sides[side], t[side].rows[i].name);
			pairs[n++].side[side] = t[side].rows[i];
		}
	n = pair_up(pairs, n);
	print(&before->meta, t, pairs, n, o, out);
	return 0;
}
