#include "sampler/diff/diff_print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sampler/diff/diff.h"
#include "sampler/views/view_head.h"
#include "symbolizer/base/strtab.h"

/*
 * Text shows this many of the other new and vanished methods, and, if nothing changed, of the most
 * likely changes.
 */
enum { OTHER_ROWS = 10, UNSURE_ROWS = 5 };

static const struct table_column columns[] = {
	{NULL, "before %", 8, 2},
	{NULL, "after %", 8, 2},
	{NULL, "change", 7, 2},
	{NULL, "±95%", 6, 2},
	{NULL, "relative", 8, 0},
	{NULL, "p", 7, 0},
	{NULL, " ", -9, 0},
	{"self_before", NULL, 0, 0},
	{"self_after", NULL, 0, 0},
	{"self_before_percent", NULL, 0, 0},
	{"self_after_percent", NULL, 0, 0},
	{"self_change_points", NULL, 0, 0},
	{"self_error_points", NULL, 0, 0},
	{"self_p", NULL, 0, 0},
	{"total_before", NULL, 0, 0},
	{"total_after", NULL, 0, 0},
	{"total_before_percent", NULL, 0, 0},
	{"total_after_percent", NULL, 0, 0},
	{"total_change_points", NULL, 0, 0},
	{"total_error_points", NULL, 0, 0},
	{"total_p", NULL, 0, 0},
	{"adjusted_p", NULL, 0, 0},
	{"changed", NULL, 0, 0},
	{"presence", NULL, 0, 0},
	{"method", "method", 0, 0},
};

/* "new", "vanished", or "": in stacks of both sides. */
static const char *presence(const struct diff_row *r)
{
	if (!r->total_count[DIFF_BEFORE])
		return "new";
	return r->total_count[DIFF_AFTER] ? "" : "vanished";
}

/* "+28%", "x12", or "-" if there was nothing before. */
static const char *relative_text(const struct diff_change *c, char *dst, size_t size)
{
	double factor = c->share[DIFF_BEFORE] > 0 ? c->share[DIFF_AFTER] / c->share[DIFF_BEFORE] : 0;

	if (c->share[DIFF_BEFORE] <= 0)
		snprintf(dst, size, "-");
	else if (factor >= 10)
		snprintf(dst, size, "x%.0f", fmin(factor, 999999));
	else
		snprintf(dst, size, "%+.0f%%", 100 * (factor - 1));
	return dst;
}

static void put_text_cells(struct table *t, const struct diff_change *c, const struct diff_row *r, double adjusted)
{
	char change[32], relative[32], p[32];

	snprintf(change, sizeof(change), "%+.2f", 100 * c->delta);
	snprintf(p, sizeof(p), adjusted < 0.001 ? "<0.001" : "%.3f", adjusted);
	table_number(t, 100 * c->share[DIFF_BEFORE]);
	table_number(t, 100 * c->share[DIFF_AFTER]);
	table_text(t, change);
	table_number(t, 100 * c->error);
	table_text(t, relative_text(c, relative, sizeof(relative)));
	table_text(t, p);
	table_text(t, presence(r));
}

static void put_data_cells(struct table *t, const struct diff_change *c, const uint64_t *count)
{
	table_count(t, count[DIFF_BEFORE]);
	table_count(t, count[DIFF_AFTER]);
	table_number(t, 100 * c->share[DIFF_BEFORE]);
	table_number(t, 100 * c->share[DIFF_AFTER]);
	table_number(t, 100 * c->delta);
	table_number(t, 100 * c->error);
	table_number(t, c->p);
}

static void put_row(struct table *t, const struct diff *d, const struct diff_row *r, bool by_total)
{
	bool judged = by_total == d->by_total;

	put_text_cells(t, by_total ? &r->total : &r->self, r,
		       judged ? r->adjusted : fmin(1, r->total.p * (double)d->n_judged));
	put_data_cells(t, &r->self, r->self_count);
	put_data_cells(t, &r->total, r->total_count);
	table_number(t, r->adjusted);
	table_count(t, r->changed);
	table_text(t, presence(r));
	table_text(t, strtab_get(d->strings, r->name));
}

static void put_side(const struct diff *d, enum diff_side side, const char *const *paths, struct buf *b, FILE *out)
{
	size_t from = side == DIFF_BEFORE ? 0 : d->n_files[DIFF_BEFORE];

	fprintf(out, "%s %" PRIu64 " sample%s:", side == DIFF_BEFORE ? "before" : "after ", d->samples[side],
		d->samples[side] == 1 ? "" : "s");
	for (size_t i = 0; i < d->n_files[side]; i++) {
		fputc(' ', out);
		table_put_clean(out, b, paths[from + i]);
	}
	fputc('\n', out);
}

static void put_text_head(const struct diff *d, const struct diff_print_options *o, FILE *out)
{
	struct buf b = {0};

	put_side(d, DIFF_BEFORE, o->paths, &b, out);
	put_side(d, DIFF_AFTER, o->paths, &b, out);
	buf_done(&b);
	fprintf(out, "%s, in percent of all samples; ", d->by_total ? "total time" : "own time");
	if (d->spread)
		fputs("chance judged by the spread between files", out);
	else
		fputs("chance judged by counts (one file a side)", out);
	if (d->min_effect > 0)
		fprintf(out, "\nchanges under %g pt of share are left out (--min-effect)", 100 * d->min_effect);
	fputs("\n\n", out);
}

static void put_json_side(const struct diff *d, enum diff_side side, const char *const *paths, struct json *json)
{
	size_t from = side == DIFF_BEFORE ? 0 : d->n_files[DIFF_BEFORE];

	json_member_open(json, side == DIFF_BEFORE ? "before" : "after", '{');
	json_member_uint(json, "samples", d->samples[side]);
	json_member_open(json, "files", '[');
	for (size_t i = 0; i < d->n_files[side]; i++)
		json_text(json, paths[from + i]);
	json_close(json, ']');
	json_close(json, '}');
	json_line(json);
}

static void put_json_head(const struct diff *d, const struct diff_print_options *o, struct json *json)
{
	char points[32];

	snprintf(points, sizeof(points), "%g", 100 * d->min_effect);
	json_open(json, '{');
	put_json_side(d, DIFF_BEFORE, o->paths, json);
	put_json_side(d, DIFF_AFTER, o->paths, json);
	json_member_text(json, "judged", d->by_total ? "total" : "self");
	json_member_text(json, "chance", d->spread ? "spread" : "counts");
	json_key(json, "min_effect_points");
	json_raw(json, points);
	json_member_uint(json, "changed", d->n_changed);
}

static void put_rows(const struct diff *d, size_t from, size_t to, struct table *t)
{
	for (size_t i = from; i < to; i++)
		put_row(t, d, &d->rows[i], d->by_total);
}

static uint64_t largest(const struct diff_row *r)
{
	return r->total_count[DIFF_BEFORE] + r->total_count[DIFF_AFTER];
}

/* The next new or vanished row after `before`, by decreasing size; NULL: none. */
static const struct diff_row *next_other(const struct diff *d, const struct diff_row *before)
{
	const struct diff_row *best = NULL;

	for (size_t i = d->n_changed; i < d->n; i++) {
		const struct diff_row *r = &d->rows[i];

		if (!*presence(r) ||
		    (before && (largest(r) > largest(before) || (largest(r) == largest(before) && r <= before))))
			continue;
		if (!best || largest(r) > largest(best))
			best = r;
	}
	return best;
}

/* -n limits every table. Without it (0), tables other than that of changes still have limits of their own. */
static size_t at_most(const struct diff_print_options *o, size_t rows)
{
	return o->rows && o->rows < rows ? (size_t)o->rows : rows;
}

static void begin(struct table *t, const struct diff_print_options *o, struct json *json)
{
	table_begin(t, json, o->format, o->width, columns, sizeof(columns) / sizeof(columns[0]));
}

static void put_others(const struct diff *d, const struct diff_print_options *o, FILE *out)
{
	const struct diff_row *r = next_other(d, NULL);
	struct json json = {.out = out};
	struct table t;
	size_t n = 0, all = 0;

	if (!r)
		return;
	for (size_t i = d->n_changed; i < d->n; i++)
		all += *presence(&d->rows[i]) != '\0';
	fputs("\nAlso new or vanished, with what they call:\n", out);
	begin(&t, o, &json);
	for (; r && n < at_most(o, OTHER_ROWS); n++, r = next_other(d, r))
		put_row(&t, d, r, true);
	table_end(&t);
	if (all > n)
		fprintf(out, "and %zu more (--all shows them)\n", all - n);
}

static void print_text(const struct diff *d, const struct diff_print_options *o, FILE *out)
{
	size_t n = at_most(o, d->n_changed);
	struct json json = {.out = out};
	struct table t;

	if (o->all)
		n = at_most(o, d->n);
	put_text_head(d, o, out);
	if (!d->n_changed && !o->all) {
		fprintf(out, "No method changed by more than chance explains%s.\nThe nearest to it:\n",
			d->min_effect > 0 ? " and as much as that" : "");
		n = at_most(o, d->n_judged < UNSURE_ROWS ? d->n_judged : UNSURE_ROWS);
	}
	if (n) {
		begin(&t, o, &json);
		put_rows(d, 0, n, &t);
		table_end(&t);
	}
	if (o->all)
		return;
	if (n < d->n_changed)
		fprintf(out, "and %zu more that changed (-n 0 shows all)\n", d->n_changed - n);
	put_others(d, o, out);
}

void diff_print(const struct diff *d, const struct diff_print_options *o, FILE *out)
{
	struct json json = {.out = out};
	struct table t;

	if (o->format == TABLE_TEXT) {
		print_text(d, o, out);
		return;
	}
	if (o->format == TABLE_JSON)
		put_json_head(d, o, &json);
	begin(&t, o, &json);
	put_rows(d, 0, d->n, &t);
	table_end(&t);
	view_foot(o->format, &json);
}
