#include "sampler/store/day/day_buckets.h"

#include <errno.h>
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

static int pass_on(struct bucket_walk *w, int64_t id, struct day_bucket *b, struct err *err)
{
	sqlite3_stmt *s = day_statement(w->day, DAY_BUCKET, &id, 1);
	int r = day_step(w->day, s, err);

	buf_reset(&w->plain);
	if (r > 0)
		r = day_unpack(w->day, s, 0, DAY_BUCKET_MAX, &w->plain);
	else if (r == 0)
		r = -EBADMSG;
	if (s)
		sqlite3_reset(s);
	if (r < 0)
		return r == -ENOMEM  ? err_set(err, r, "out of memory") :
		       r == -EBADMSG ? day_damaged(w->day, "samples", err) :
				       r;
	b->bytes = w->plain.data;
	b->len = w->plain.len;
	return w->fn(w->ctx, b, err);
}

int day_each_bucket(struct day *d, const struct day_range *range, struct excerpt *names, day_bucket_fn *fn, void *ctx,
		    struct err *err)
{
	struct bucket_walk w = {d, range, names, fn, ctx, {0}};
	sqlite3_stmt *s = day_statement(d, DAY_FIND_BUCKETS, (int64_t[]){range->from_s, range->to_s}, 2);
	int r;

	while ((r = day_step(d, s, err)) > 0) {
		struct day_bucket b = {.at = sqlite3_column_int64(s, 1)};

		r = day_find_target(range->targets, sqlite3_column_int64(s, 2), &b.target) ?
			    check_event(&w, sqlite3_column_int64(s, 3), &b, err) :
			    0;
		if (r > 0)
			r = pass_on(&w, sqlite3_column_int64(s, 0), &b, err);
		if (r != 0)
			break;
	}
	if (s)
		sqlite3_reset(s);
	buf_done(&w.plain);
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
