#include "sampler/store/day/day_buckets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/store/day/day.h"
#include "sampler/store/day/day_dictionary.h"
#include "sampler/store/stacks/bucket.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/excerpt.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/err.h"

struct bucket_walk {
	struct day *day;
	const struct day_range *range;
	struct excerpt *names;
	day_bucket_fn *fn;
	void *ctx;
	struct buf plain; /* of the last bucket */
	bool *done; /* targets whose totals were passed on; NULL: none */
	bool all_done;
};

/* 1: it has the name that is wanted. */
static int check_event(struct bucket_walk *w, int64_t event, struct day_bucket *b, struct err *err)
{
	const struct dictionary *dict = w->names->to;
	uint32_t number;
	int r = event < 0 || event > UINT32_MAX ? -EBADMSG :
						  excerpt_add(w->names, DICT_EVENTS, (uint32_t)event, &number, err);
	const uint32_t *row;

	if (r < 0)
		return day_dictionary_failed(w->day, r, err);
	row = dictionary_row(dict, DICT_EVENTS, number);
	b->unit = row[1];
	return strcmp(strtab_get(dict->strings, row[0]), w->range->event) == 0;
}

/* The bucket in w->plain. */
static int pass_on(struct bucket_walk *w, struct day_bucket *b, struct err *err)
{
	b->bytes = w->plain.data;
	b->len = w->plain.len;
	return w->fn(w->ctx, b, err);
}

/* --- totals --- */

/* Those of one target, if it has some. */
static int pass_totals(struct bucket_walk *w, size_t target, struct err *err)
{
	sqlite3_stmt *s = day_statement(w->day, DAY_TOTALS, &w->range->targets->v[target], 1);
	int r;

	while ((r = day_step(w->day, s, err)) > 0) {
		struct day_bucket b = {.at = sqlite3_column_int64(s, 1),
				       .end_s = sqlite3_column_int64(s, 2),
				       .target = target,
				       .is_total = true,
				       .period = (uint64_t)sqlite3_column_int64(s, 4)};

		w->done[target] = true;
		r = check_event(w, sqlite3_column_int64(s, 0), &b, err);
		if (r > 0 && (r = day_unpack_bucket(w->day, s, 3, DAY_BUCKET_MAX, &w->plain, err)) == 0)
			r = pass_on(w, &b, err);
		if (r != 0)
			break;
	}
	if (s)
		sqlite3_reset(s);
	return r;
}

static int pass_all_totals(struct bucket_walk *w, struct err *err)
{
	size_t n = w->range->targets->n;
	int r = 0;

	w->done = calloc(n + 1, sizeof(*w->done));
	if (!w->done)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = pass_totals(w, i, err);
		w->all_done = r == 0 && (i == 0 || w->all_done) && w->done[i];
	}
	return r;
}

static bool is_whole_day(const struct bucket_walk *w)
{
	int64_t begin = w->day->id.date * DAY_S;

	return w->range->from_s <= begin && w->range->to_s >= begin + DAY_S;
}

/* --- steps --- */

/* In a row of DAY_FIND_BUCKETS. */
static int pass_step(struct bucket_walk *w, sqlite3_stmt *s, struct err *err)
{
	struct day_bucket b = {.at = sqlite3_column_int64(s, 1)};
	int r;

	b.end_s = b.at + day_steps[w->day->id.step].seconds;
	if (!day_find_target(w->range->targets, sqlite3_column_int64(s, 2), &b.target) ||
	    (w->done && w->done[b.target]))
		return 0;
	r = check_event(w, sqlite3_column_int64(s, 3), &b, err);
	if (r <= 0)
		return r;
	r = day_fetch_bucket(w->day, sqlite3_column_int64(s, 0), DAY_BUCKET_MAX, &w->plain, err);
	return r < 0 ? r : pass_on(w, &b, err);
}

static int pass_steps(struct bucket_walk *w, struct err *err)
{
	sqlite3_stmt *s = day_statement(w->day, DAY_FIND_BUCKETS, (int64_t[]){w->range->from_s, w->range->to_s}, 2);
	int r;

	while ((r = day_step(w->day, s, err)) > 0)
		if ((r = pass_step(w, s, err)) != 0)
			break;
	if (s)
		sqlite3_reset(s);
	return r;
}

int day_each_bucket(struct day *d, const struct day_range *range, struct excerpt *names, day_bucket_fn *fn, void *ctx,
		    struct err *err)
{
	struct bucket_walk w = {.day = d, .range = range, .names = names, .fn = fn, .ctx = ctx};
	int r = range->totals && d->has_totals && is_whole_day(&w) ? pass_all_totals(&w, err) : 0;

	if (r == 0 && !w.all_done)
		r = pass_steps(&w, err);
	buf_done(&w.plain);
	free(w.done);
	return r;
}

int day_want_nodes(struct day *d, const struct day_bucket *b, struct excerpt *names, struct err *err)
{
	uint64_t ignored[BUCKET_SUMS] = {0};
	struct bucket_reader reader;
	struct bucket_count c;
	int r;

	bucket_begin(&reader, b->bytes, b->len, ignored);
	while ((r = bucket_next(&reader, &c)) > 0)
		if ((r = excerpt_want(names, DICT_NODES, c.node, err)) < 0)
			return day_dictionary_failed(d, r, err);
	return r < 0 ? day_damaged(d, "samples", err) : 0;
}
