#include <errno.h>
#include <string.h>

#include "sampler/model/named_profile.h"
#include "sampler/output/share.h"
#include "sampler/views/frames.h"
#include "sampler/views/name_pattern.h"
#include "sampler/views/view.h"
#include "sampler/views/view_head.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/map.h"
#include "symbolizer/base/sorted.h"

static const struct table_column columns[] = {
	{"self", "self", 10, 0},   {"self_percent", "self %", 7, 2},   {"error_percent", "±95%", 6, 2},
	{"total", "total", 10, 0}, {"total_percent", "total %", 7, 2}, {"line", "  line", 6, 0},
	{"file", " file", -20, 0}, {"method", "method", 0, 0},
};

struct line_key {
	uint32_t name, file;
	int32_t line;
};

struct line_row {
	struct line_key key;
	uint64_t self, total;
	uint32_t seen; /* last sample (+1) that counted into the total */
	UT_hash_handle hh;
};

/* Most samples first, then in the order of the source. */
static int compare(struct line_row *a, struct line_row *b)
{
	return descending(a->self, b->self) ?: descending(a->total, b->total) ?: ascending(a->key.line, b->key.line);
}

static int count_sample(struct line_row **rows, const struct named_profile *np, const uint8_t *ids,
			const struct frames *f, uint64_t count, uint32_t stamp)
{
	for (size_t i = 0; i < f->list.n; i++) {
		const struct named_line *l = f->list.v[i];
		const struct named_function *fn = &np->functions[l->function];
		struct line_key key = {fn->name, fn->file, l->line > 0 ? l->line : 0};
		struct line_row *r;

		if (!ids[fn->name] || named_is_root_label(l))
			continue;
		r = map_entry(*rows, &key);
		if (!r)
			return -ENOMEM;
		r->self += i ? 0 : count;
		r->total += r->seen == stamp ? 0 : count;
		r->seen = stamp;
	}
	return 0;
}

static int build(struct line_row **rows, const struct named_profile *np, const uint8_t *ids)
{
	CLEANUP(frames_done) struct frames f = {0};
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < np->n_samples; i++) {
		r = frames_of(&f, np, np->samples[i].stack);
		if (r == 0)
			r = count_sample(rows, np, ids, &f, np->samples[i].count, i + 1);
	}
	HASH_SORT(*rows, compare);
	return r;
}

static void put_row(struct table *t, const struct named_profile *np, const struct line_row *r, uint64_t all)
{
	const char *file = named_string(np, r->key.file), *slash = strrchr(file, '/');

	table_count(t, r->self);
	table_number(t, share_percent(r->self, all));
	table_number(t, share_error(r->self, all));
	table_count(t, r->total);
	table_number(t, share_percent(r->total, all));
	if (r->key.line)
		table_count(t, (uint64_t)r->key.line);
	else
		table_null(t);
	table_text(t, t->format != TABLE_TEXT ? file : slash ? slash + 1 : *file ? file : "-");
	table_text(t, frame_name_text(np, r->key.name));
}

static void print(const struct named_profile *np, const struct view_options *o, struct line_row *rows, FILE *out)
{
	uint64_t all = view_sum(np).samples, shown = 0, more = 0, rest = 0;
	struct json json = {.out = out};
	bool numbers = false;
	struct table t;

	view_head(np, "lines", o->format, &json);
	table_begin(&t, &json, o->format, o->width, columns, sizeof(columns) / sizeof(columns[0]));
	for (struct line_row *r = rows; r; r = r->hh.next) {
		numbers |= r->key.line > 0;
		if (!o->rows || shown < o->rows) {
			put_row(&t, np, r, all);
			shown++;
		} else {
			more++;
			rest += r->self;
		}
	}
	table_end(&t);
	view_more(out, o->format, more, share_percent(rest, all));
	if (!numbers && o->format == TABLE_TEXT)
		fputs("no line numbers in this profile: record with -o FILE.pb.gz or --lines\n", out);
	view_foot(o->format, &json);
}

int view_lines(const struct named_profile *np, const struct view_options *o, FILE *out, struct err *err)
{
	CLEANUP(free_at_exit) uint8_t *ids = NULL;
	struct line_row *rows = NULL;
	uint32_t matches, one;
	int r;

	r = name_pattern_method(o->method, np, &ids, &matches, &one, err);
	if (r < 0)
		return r;
	r = build(&rows, np, ids);
	if (r == 0)
		print(np, o, rows, out);
	else
		err_set(err, r, "out of memory");
	map_free(rows);
	return r;
}
