#include "sampler/store/day_dictionary.h"

#include <errno.h>

#include "sampler/store/day.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/excerpt.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"

/* Limit when reading: a segment is settled at 32 kB, but one flush may add as much to it as a session can hold. */
enum { SEGMENT_MAX = 256 << 20 };

int day_dictionary_failed(struct day *d, int r, struct err *err)
{
	if (r == -ENOMEM)
		return err_set(err, r, "out of memory");
	return r == -EBADMSG ? day_damaged(d, "names", err) : r;
}

/* --- all, for a writer --- */

static int load_segment(struct day *d, sqlite3_stmt *s, struct err *err)
{
	CLEANUP(buf_done) struct buf plain = {0};
	int64_t table = sqlite3_column_int64(s, 0), first = sqlite3_column_int64(s, 1);
	int r = table < 0 || table >= DICT_TABLES || first < 0 || first > UINT32_MAX ? -EBADMSG : 0;

	if (r == 0)
		r = day_unpack(d, s, 2, SEGMENT_MAX, &plain);
	if (r == 0)
		r = dictionary_load(d->dict, (enum dictionary_table)table, (uint32_t)first, plain.data, plain.len);
	return day_dictionary_failed(d, r, err);
}

int day_load(struct day *d, struct err *err)
{
	sqlite3_stmt *s = NULL;
	int r;

	if (sqlite3_prepare_v2(d->db, "select tab, first, bytes from segment order by tab, first", -1, &s, NULL) !=
	    SQLITE_OK)
		return day_failed(d, err);
	while ((r = day_step(d, s, err)) > 0)
		if ((r = load_segment(d, s, err)) < 0)
			break;
	sqlite3_finalize(s);
	return r;
}

/* --- some, for a reader --- */

static int fetch(void *ctx, enum dictionary_table t, uint32_t first, struct buf *ret, struct err *err)
{
	struct day *d = ctx;
	sqlite3_stmt *s = day_statement(d, DAY_SEGMENT, (int64_t[]){t, first}, 2);
	int r = day_step(d, s, err);

	if (r > 0)
		r = day_unpack(d, s, 0, SEGMENT_MAX, ret);
	else if (r == 0)
		r = -EBADMSG;
	if (s)
		sqlite3_reset(s);
	return r;
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
