#include <errno.h>
#include <string.h>

#include "sampler/output/share.h"
#include "sampler/views/frames.h"
#include "sampler/views/timeline.h"
#include "sampler/views/view.h"
#include "sampler/views/view_head.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/json.h"

static const struct table_column columns[] = {
	{"slice", NULL, 0, 0},        {"from_seconds", "from s", 9, 1},
	{"samples", "samples", 9, 0}, {"interpreted", "interp", 7, 1},
	{"c1", "C1", 7, 1},           {"c2", "C2", 7, 1},
	{"native", "native", 7, 1},   {"kernel", "kernel", 7, 1},
	{"other", "other", 7, 1},     {NULL, " ", 0, 0},
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]), BAR = 20, NARROW_STRIP = 20 };

static const char letters[TIMELINE_PARTS] = {'0', '1', 'j', 'n', 'k', '.'};

/* The parts of the time as letters, in proportion; remainders too small for a letter are left out. */
static void bar_text(const struct timeline_slice *s, char dst[BAR + 1])
{
	uint64_t sum = 0;
	size_t n = 0;

	for (int p = 0; s->samples && p < TIMELINE_PARTS; p++) {
		sum += s->part[p];
		while (n < (size_t)((double)sum / (double)s->samples * BAR + 0.5))
			dst[n++] = letters[p];
	}
	dst[n] = '\0';
}

/* Shares in text, samples elsewhere. */
static void put_slice(struct table *t, const struct timeline *line, uint32_t first, const struct timeline_slice *s)
{
	char bar[BAR + 1];

	table_count(t, first + 1);
	table_number(t, (double)first * (double)line->slice_ns / 1e9);
	table_count(t, s->samples);
	for (int p = 0; p < TIMELINE_PARTS; p++) {
		if (t->format != TABLE_TEXT)
			table_count(t, s->part[p]);
		else if (s->part[p])
			table_number(t, share_percent(s->part[p], s->samples));
		else
			table_null(t);
	}
	bar_text(s, bar);
	table_text(t, bar);
}

static void put_slices(struct table *t, const struct timeline *line)
{
	uint32_t step = t->format == TABLE_TEXT ? line->slices_per_column : 1;

	for (uint32_t i = 0; i < line->n_slices; i += step) {
		struct timeline_slice sum = {0};

		for (uint32_t k = i; k < i + step && k < line->n_slices; k++) {
			sum.samples += line->slices[k].samples;
			for (int p = 0; p < TIMELINE_PARTS; p++)
				sum.part[p] += line->slices[k].part[p];
		}
		put_slice(t, line, i, &sum);
	}
}

/* How most of a method's own time ran in each `step` slices: 0, 1, j; a dot: none. */
static void strip_text(const struct timeline *line, const struct timeline_method *m, uint32_t step,
		       char dst[TIMELINE_COLUMNS + 1])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < line->n_columns; i += step) {
		uint64_t sum[TIMELINE_TIERS] = {0};
		int best = 0;

		for (uint32_t c = i; c < i + step && c < line->n_columns; c++)
			for (int k = 0; k < TIMELINE_TIERS; k++)
				sum[k] += m->column[c][k];
		for (int k = 1; k < TIMELINE_TIERS; k++)
			if (sum[k] > sum[best])
				best = k;
		dst[n++] = sum[best] ? letters[best] : '.';
	}
	dst[n] = '\0';
}

/*
 * ms after the start, at least 1; 0: never. If the time was not recorded (other tools' profiles), the start
 * of the first sample's slice.
 */
static uint64_t first_ms(const struct timeline *line, uint32_t seen_ms, uint32_t slice)
{
	return seen_ms ? seen_ms : slice ? (slice - 1) * (line->slice_ns / 1000000) + 1 : 0;
}

static void put_first(struct table *t, uint64_t ms)
{
	if (ms)
		table_number(t, (double)ms / 1000);
	else
		table_null(t);
}

static void put_method_text(const struct named_profile *np, const struct timeline *line,
			    const struct timeline_method *m, uint64_t samples, struct table *t)
{
	/* On a terminal, long strips would leave no room for names. */
	uint32_t step = t->width ? (line->n_columns + NARROW_STRIP - 1) / NARROW_STRIP : 1;
	char strip[TIMELINE_COLUMNS + 1];

	strip_text(line, m, step ? step : 1, strip);
	table_number(t, share_percent(m->self, samples));
	put_first(t, first_ms(line, m->compile.c1_ms, m->first[PART_C1]));
	put_first(t, first_ms(line, m->compile.c2_ms, m->first[PART_C2]));
	table_count(t, m->compile.not_entrant);
	table_text(t, strip);
	table_text(t, frame_name_text(np, m->name));
}

static void put_method_json(const struct named_profile *np, const struct timeline *line,
			    const struct timeline_method *m, struct json *json)
{
	char strip[TIMELINE_COLUMNS + 1];

	strip_text(line, m, 1, strip);
	json_line(json);
	json_open(json, '{');
	json_member_uint(json, "self", m->self);
	json_member_uint(json, "first_c1_ms", first_ms(line, m->compile.c1_ms, m->first[PART_C1]));
	json_member_uint(json, "first_c2_ms", first_ms(line, m->compile.c2_ms, m->first[PART_C2]));
	json_member_uint(json, "not_entrant", m->compile.not_entrant);
	json_member_text(json, "strip", strip);
	json_member_text(json, "method", frame_name_text(np, m->name));
	json_close(json, '}');
}

static void put_methods_json(const struct named_profile *np, const struct timeline *line, size_t n, struct json *json)
{
	json_line(json);
	json_member_open(json, "methods", '[');
	for (size_t i = 0; i < n; i++)
		put_method_json(np, line, &line->methods[i], json);
	json_close(json, ']');
}

static void put_methods_text(const struct named_profile *np, const struct timeline *line, size_t n,
			     const struct view_options *o, FILE *out)
{
	struct json json = {.out = out};
	const int strip = line->n_columns > 9 ? (int)line->n_columns : 9; /* at least as wide as its title */
	const struct table_column method_columns[] = {
		{NULL, "self %", 7, 2},
		{NULL, "C1 at s", 9, 2},
		{NULL, "C2 at s", 9, 2},
		{NULL, "not entrant", 11, 0},
		{NULL, " over time", -2 - strip, 0},
		{NULL, "method", 0, 0},
	};
	uint64_t samples = view_sum(np).samples;
	struct table t;

	fputc('\n', out);
	table_begin(&t, &json, TABLE_TEXT, o->width, method_columns,
		    sizeof(method_columns) / sizeof(method_columns[0]));
	for (size_t i = 0; i < n; i++)
		put_method_text(np, line, &line->methods[i], samples, &t);
	table_end(&t);
}

/* CSV has one table: the slices. */
static void put_methods(const struct named_profile *np, const struct timeline *line, const struct view_options *o,
			struct json *json)
{
	size_t n = o->rows && o->rows < line->n_methods ? o->rows : line->n_methods;
	uint64_t rest = 0;

	if (o->format == TABLE_TEXT)
		put_methods_text(np, line, n, o, json->out);
	if (o->format == TABLE_JSON)
		put_methods_json(np, line, n, json);
	for (size_t i = n; i < line->n_methods; i++)
		rest += line->methods[i].self;
	view_more(json->out, o->format, line->n_methods - n, share_percent(rest, view_sum(np).samples));
}

int view_timeline(const struct named_profile *np, const struct view_options *o, FILE *out, struct err *err)
{
	CLEANUP(timeline_done) struct timeline line = {0};
	struct json json = {.out = out};
	int r = timeline_build(np, &line);
	struct table t;

	if (r == -ENODATA)
		return err_set(err, r, "the profile has no time slices: record with --slices 1s into a .pb.gz file");
	if (r < 0)
		return err_set(err, r, "out of memory");
	view_head(np, "timeline", o->format, &json);
	if (o->format == TABLE_JSON) {
		json_line(&json);
		json_member_uint(&json, "slice_ns", line.slice_ns);
		json_member_uint(&json, "unsliced", line.unsliced);
		json_member_uint(&json, "slices_per_column", line.slices_per_column);
	}
	table_begin(&t, &json, o->format, o->width, columns, COLUMNS);
	put_slices(&t, &line);
	table_end(&t);
	put_methods(np, &line, o, &json);
	view_foot(o->format, &json);
	return 0;
}
