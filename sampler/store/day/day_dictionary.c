#include "sampler/store/day/day_dictionary.h"

#include <errno.h>
#include <stdio.h>

#include "sampler/store/day/day.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/excerpt.h"
#include "sampler/store/stacks/segment_rows.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"

int day_dictionary_failed(struct day *d, int r, struct err *err)
{
	if (r == -ENOMEM)
		return err_set(err, r, "out of memory");
	return r == -EBADMSG ? day_damaged(d, "names", err) : r;
}

/* --- for a writer --- */

static int load_segment(struct day *d, sqlite3_stmt *s, struct err *err)
{
	CLEANUP(buf_done) struct buf plain = {0};
	int64_t table = sqlite3_column_int64(s, 0), first = sqlite3_column_int64(s, 1);
	int r = table < 0 || table >= DICT_TABLES || first < 0 || first > UINT32_MAX ? -EBADMSG : 0;

	if (r == 0)
		r = day_unpack(d, s, 2, DAY_SEGMENT_MAX, &plain);
	if (r == 0)
		r = dictionary_load(d->dict, (enum dictionary_table)table, (uint32_t)first, plain.data, plain.len);
	return day_dictionary_failed(d, r, err);
}

static int load_segments(struct day *d, struct err *err)
{
	char sql[100];
	sqlite3_stmt *s = NULL;
	int r;

	snprintf(sql, sizeof(sql), "select tab, first, bytes from segment where tab <> %d order by tab, first",
		 DICT_NODES);
	if (sqlite3_prepare_v2(d->db, sql, -1, &s, NULL) != SQLITE_OK)
		return day_failed(d, err);
	while ((r = day_step(d, s, err)) > 0)
		if ((r = load_segment(d, s, err)) < 0)
			break;
	sqlite3_finalize(s);
	return r;
}

/* --- excerpts --- */

int day_fetch_segment(struct day *d, enum dictionary_table t, uint32_t first, size_t max, struct buf *ret,
		      struct err *err)
{
	sqlite3_stmt *s = day_statement(d, DAY_SEGMENT, (int64_t[]){t, first}, 2);
	int r = day_step(d, s, err);

	if (r > 0)
		r = day_unpack(d, s, 0, max, ret);
	else if (r == 0)
		r = -EBADMSG;
	if (s)
		sqlite3_reset(s);
	return r;
}

int day_fetch_nodes(void *day, uint32_t first, struct buf *ret, struct err *err)
{
	return day_fetch_segment(day, DICT_NODES, first, DAY_NODE_SEGMENT_MAX, ret, err);
}

static int fetch(void *ctx, enum dictionary_table t, uint32_t first, struct buf *ret, struct err *err)
{
	return day_fetch_segment(ctx, t, first, DAY_SEGMENT_MAX, ret, err);
}

int day_excerpt_begin(struct day *d, struct dictionary *to, struct excerpt *e, struct err *err)
{
	sqlite3_stmt *s = day_statement(d, DAY_SEGMENTS, NULL, 0);
	int r;

	e->to = to;
	e->fetch = fetch;
	e->ctx = d;
	while ((r = day_step(d, s, err)) > 0) {
		int64_t table = sqlite3_column_int64(s, 0);

		r = table < 0 || table >= DICT_TABLES ?
			    -EBADMSG :
			    excerpt_segment(e, (enum dictionary_table)table, sqlite3_column_int64(s, 1));
		if (r < 0) {
			sqlite3_reset(s);
			return day_dictionary_failed(d, r, err);
		}
	}
	return r;
}

int day_list_nodes(struct day *d, size_t max, day_segments *ret, uint32_t *ret_count, struct err *err)
{
	CLEANUP(buf_done) struct buf plain = {0};
	sqlite3_stmt *s = day_statement(d, DAY_SEGMENTS, NULL, 0);
	uint32_t last = 1, n = 0;
	int r;

	while ((r = day_step(d, s, err)) > 0) {
		int64_t first = sqlite3_column_int64(s, 1);

		if (sqlite3_column_int64(s, 0) != DICT_NODES)
			continue;
		r = first < 1 || first > UINT32_MAX ? -EBADMSG : vec_push(ret, (uint32_t)first) ? 0 : -ENOMEM;
		if (r < 0)
			break;
	}
	if (s)
		sqlite3_reset(s);
	if (r == 0 && ret->n) {
		last = ret->v[ret->n - 1];
		r = day_fetch_segment(d, DICT_NODES, last, max, &plain, err);
	}
	if (r == 0 && ret->n)
		r = segment_count_rows(&plain, DICT_NODES, last, &n);
	*ret_count = last + n;
	if (r == 0 && *ret_count > UINT32_MAX / 2) /* no day has so many, and there would be none left */
		r = -EBADMSG;
	return day_dictionary_failed(d, r, err);
}

/* Nodes are numbered on from those in the file. */
static int skip_nodes(struct day *d, struct err *err)
{
	day_segments segments = {0};
	uint32_t count;
	int r = day_list_nodes(d, DAY_SEGMENT_MAX, &segments, &count, err);

	vec_done(&segments);
	if (r == 0)
		dictionary_skip_nodes(d->dict, count);
	return r;
}

int day_load(struct day *d, struct err *err)
{
	int r = load_segments(d, err);

	d->dict->shares = true;
	d->dict->node_segment = day_steps[d->id.step].node_segment;
	if (day_steps[d->id.step].remembered_s)
		dictionary_remember(d->dict);
	return r < 0 ? r : skip_nodes(d, err);
}
