#include <errno.h>
#include <stdlib.h>

#include "sampler/model/named_profile.h"
#include "sampler/output/share.h"
#include "sampler/views/frames.h"
#include "sampler/views/view.h"
#include "sampler/views/view_head.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/sorted.h"

static const struct table_column columns[] = {
	{"samples", "samples", 10, 0}, {"percent", "%", 7, 2}, {"error_percent", "±95%", 6, 2}, {"weight", NULL, 0, 0},
	{"pid", NULL, 0, 0},           {"tid", "tid", 8, 0},   {"thread", " thread", 0, 0},
};

struct thread_row {
	uint32_t name; /* string id */
	int32_t pid, tid;
	uint64_t count, weight;
};

static int by_identity(const void *a, const void *b)
{
	const struct thread_row *x = a, *y = b;

	return ascending(x->pid, y->pid) ?: ascending(x->tid, y->tid) ?: ascending(x->name, y->name);
}

static int by_count(const void *a, const void *b)
{
	const struct thread_row *x = a, *y = b;

	return descending(x->count, y->count) ?: by_identity(a, b);
}

/* Merges rows to one per thread, in place; returns their number. */
static size_t merge(struct thread_row *rows, size_t n)
{
	size_t to = 0;

	for (size_t i = 0; i < n; i++) {
		if (to && by_identity(&rows[to - 1], &rows[i]) == 0) {
			rows[to - 1].count += rows[i].count;
			rows[to - 1].weight += rows[i].weight;
		} else {
			rows[to++] = rows[i];
		}
	}
	return to;
}

static size_t threads_of(const struct named_profile *np, struct thread_row *rows)
{
	size_t n = np->n_samples;

	for (size_t i = 0; i < n; i++) {
		const struct named_sample *s = &np->samples[i];

		rows[i] = (struct thread_row){s->thread, s->pid, s->tid, s->count, s->weight};
	}
	qsort(rows, n, sizeof(*rows), by_identity);
	n = merge(rows, n);
	qsort(rows, n, sizeof(*rows), by_count);
	return n;
}

static void put_row(struct table *t, const struct named_profile *np, const struct thread_row *r, uint64_t all)
{
	table_count(t, r->count);
	table_number(t, share_percent(r->count, all));
	table_number(t, share_error(r->count, all));
	table_count(t, r->weight);
	table_count(t, (uint64_t)(r->pid > 0 ? r->pid : 0));
	if (r->tid > 0)
		table_count(t, (uint64_t)r->tid);
	else
		table_null(t);
	table_text(t, frame_name_text(np, r->name));
}

static bool has_threads(const struct thread_row *rows, size_t n)
{
	return n > 1 || (n == 1 && (rows[0].tid || rows[0].name));
}

int view_threads(const struct named_profile *np, const struct view_options *o, FILE *out, struct err *err)
{
	CLEANUP(free_at_exit) struct thread_row *rows = calloc((size_t)np->n_samples + 1, sizeof(*rows));
	struct json json = {.out = out};
	struct table t;
	uint64_t all = view_sum(np).samples, rest = 0;
	size_t n, shown;

	if (!rows)
		return err_set(err, -ENOMEM, "out of memory");
	n = threads_of(np, rows);
	if (n && !has_threads(rows, n))
		return err_set(err, -ENOENT,
			       "the profile does not say which thread each sample belongs to (folded "
			       "text does with "
			       "record --threads)");
	shown = o->rows && o->rows < n ? (size_t)o->rows : n;
	view_head(np, "threads", o->format, &json);
	table_begin(&t, &json, o->format, o->width, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < shown; i++)
		put_row(&t, np, &rows[i], all);
	table_end(&t);
	for (size_t i = shown; i < n; i++)
		rest += rows[i].count;
	view_more(out, o->format, n - shown, share_percent(rest, all));
	view_foot(o->format, &json);
	return 0;
}
