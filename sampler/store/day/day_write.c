/* Transactions on a file of the store, and what is written in them. */
#include <errno.h>
#include <stdio.h>

#include "sampler/store/day/day.h"
#include "sampler/store/stacks/bucket.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/pack.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

int day_begin(struct day *d, struct err *err)
{
	int r = d->begun ? 0 : day_run(d, "begin immediate", err);

	d->begun = r == 0;
	return r;
}

/* Steps a statement with its value `column` bound to those bytes. `small`: pack_add(). */
static int write_packed(struct day *d, sqlite3_stmt *s, int column, const struct buf *plain, bool small,
			struct err *err)
{
	CLEANUP(buf_done) struct buf packed = {0};

	if (pack_add(d->pack, plain, small, &packed) < 0)
		return no_memory(err);
	if (!s || sqlite3_bind_blob64(s, column, packed.data, packed.len, SQLITE_STATIC) != SQLITE_OK)
		return day_failed(d, err);
	return day_step(d, s, err);
}

int day_save(struct day *d, struct dictionary *dict, enum dictionary_table t, struct err *err)
{
	CLEANUP(buf_done) struct buf plain = {0};
	uint32_t first;
	int r;

	if (!dictionary_save(dict, t, &first, &plain))
		return 0;
	r = write_packed(d, day_statement(d, DAY_SAVE_SEGMENT, (int64_t[]){t, first}, 2), 3, &plain,
			 dict->settled[t] > first, err);
	return r < 0 ? r : 1;
}

static int save_all(struct day *d, struct err *err)
{
	int r = 0;

	for (enum dictionary_table t = 0; r == 0 && d->dict && t < DICT_TABLES; t++)
		while ((r = day_save(d, d->dict, t, err)) > 0)
			;
	return r;
}

void day_period(struct day *d, int64_t at)
{
	const struct day_step *step = &day_steps[d->id.step];

	if (step->remembered_s)
		dictionary_period(d->dict, at / step->recurs_s, at / step->remembered_s);
}

int day_commit(struct day *d, struct err *err)
{
	int r = save_all(d, err);

	if (r == 0 && d->begun)
		r = day_run(d, "commit", err);
	if (r == 0)
		d->begun = false;
	if (r == 0 && d->dict)
		dictionary_forget(d->dict);
	pack_rest(d->pack);
	return r;
}

int day_set_label(struct day *d, int64_t target, const char *key, const char *value, struct err *err)
{
	sqlite3_stmt *s = day_statement(d, DAY_SET_LABEL, &target, 1);

	if (!s || sqlite3_bind_text(s, 2, key, -1, SQLITE_TRANSIENT) != SQLITE_OK ||
	    sqlite3_bind_text(s, 3, value, -1, SQLITE_TRANSIENT) != SQLITE_OK)
		return day_failed(d, err);
	return day_step(d, s, err);
}

static int add_target(struct day *d, const struct store_target *t, int64_t *ret, struct err *err)
{
	sqlite3_stmt *s =
		day_statement(d, DAY_ADD_TARGET, (int64_t[]){t->pid, (int64_t)t->start_ticks, (int64_t)t->since_ns}, 3);
	int r;

	if (!s || sqlite3_bind_text(s, 4, t->boot_id, -1, SQLITE_STATIC) != SQLITE_OK)
		return day_failed(d, err);
	r = day_step(d, s, err);
	*ret = sqlite3_last_insert_rowid(d->db);
	for (size_t i = 0; r == 0 && i < t->n_labels; i++)
		r = day_set_label(d, *ret, t->labels[i].key, t->labels[i].value, err);
	return r;
}

int day_target(struct day *d, const struct store_target *t, int64_t *ret, struct err *err)
{
	sqlite3_stmt *s = day_statement(d, DAY_FIND_TARGET, (int64_t[]){t->pid, (int64_t)t->start_ticks}, 2);
	int r;

	if (!s || sqlite3_bind_text(s, 3, t->boot_id, -1, SQLITE_STATIC) != SQLITE_OK)
		return day_failed(d, err);
	r = day_step(d, s, err);
	if (r == 0)
		return add_target(d, t, ret, err);
	if (r < 0)
		return r;
	*ret = sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	return 0;
}

int day_unpack(struct day *d, sqlite3_stmt *s, int column, size_t max, struct buf *ret)
{
	size_t before = ret->len;
	int r = pack_extract(d->pack, sqlite3_column_blob(s, column), (size_t)sqlite3_column_bytes(s, column), max,
			     ret);

	d->unpacked += ret->len - before;
	return r;
}

int day_unpack_bucket(struct day *d, sqlite3_stmt *s, int column, size_t max, struct buf *ret, struct err *err)
{
	int r;

	buf_reset(ret);
	r = day_unpack(d, s, column, max, ret);
	return r == -ENOMEM ? no_memory(err) : r < 0 ? day_damaged(d, "samples", err) : 0;
}

int day_fetch_bucket(struct day *d, int64_t row, size_t max, struct buf *ret, struct err *err)
{
	sqlite3_stmt *s = day_statement(d, DAY_BUCKET, &row, 1);
	int r = day_step(d, s, err);

	if (r > 0)
		r = day_unpack_bucket(d, s, 0, max, ret, err);
	else if (r == 0)
		r = day_damaged(d, "samples", err);
	if (s)
		sqlite3_reset(s);
	return r;
}

int day_row_bucket(struct day *d, sqlite3_stmt *s, int column, struct bucket *b, struct err *err)
{
	CLEANUP(buf_done) struct buf plain = {0};
	int r = day_unpack_bucket(d, s, column, DAY_BUCKET_MAX, &plain, err);

	if (r < 0)
		return r;
	r = bucket_read(b, plain.data, plain.len, dictionary_count(d->dict, DICT_NODES),
			dictionary_count(d->dict, DICT_LABELS));
	return r == -ENOMEM ? no_memory(err) : r < 0 ? day_damaged(d, "samples", err) : 0;
}

int day_get_bucket(struct day *d, int64_t at, int64_t target, int64_t event, struct bucket *b, struct err *err)
{
	sqlite3_stmt *s = day_statement(d, DAY_FIND_BUCKET, (int64_t[]){at, target, event}, 3);
	int r = day_step(d, s, err);

	if (r > 0) {
		r = day_row_bucket(d, s, 0, b, err);
		sqlite3_reset(s);
	}
	return r;
}

/* column: of the statement's values, the one for the bucket. */
static int write_bucket(struct day *d, sqlite3_stmt *s, int column, struct bucket *b, struct err *err)
{
	CLEANUP(buf_done) struct buf plain = {0};

	bucket_write(b, &plain);
	return write_packed(d, s, column, &plain, false, err);
}

static int delete_totals(struct day *d, struct err *err)
{
	int r = d->totals_gone ? 0 : day_run(d, "delete from total", err);

	d->totals_gone |= r == 0;
	return r;
}

int day_put_bucket(struct day *d, int64_t at, int64_t target, int64_t event, struct bucket *b, struct err *err)
{
	int r = delete_totals(d, err);

	return r < 0 ? r :
		       write_bucket(d, day_statement(d, DAY_PUT_BUCKET, (int64_t[]){at, target, event}, 3), 4, b, err);
}

int day_replace_bucket(struct day *d, int64_t row, struct bucket *b, struct err *err)
{
	return write_bucket(d, day_statement(d, DAY_REPLACE_BUCKET, &row, 1), 2, b, err);
}

int day_put_total(struct day *d, int64_t target, int64_t event, const struct day_total *t, struct bucket *b,
		  struct err *err)
{
	const int64_t values[] = {target, event, t->first_s, t->last_s, (int64_t)t->period, t->below};

	return write_bucket(d, day_statement(d, DAY_PUT_TOTAL, values, 6), 7, b, err);
}

int day_shrink(struct day *d, unsigned n, struct err *err)
{
	char text[48];
	int64_t before = 0, after = 0;
	int r;

	snprintf(text, sizeof(text), "pragma incremental_vacuum(%u)", n);
	r = day_ask(d, "pragma freelist_count", &before, err);
	if (r >= 0 && before)
		r = day_run(d, text, err);
	if (r >= 0 && before)
		r = day_ask(d, "pragma freelist_count", &after, err);
	return r < 0 ? r : after && after < before;
}

int day_cut(struct day *d, struct err *err)
{
	int rc = sqlite3_wal_checkpoint_v2(d->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);

	return rc == SQLITE_OK ? 0 : rc == SQLITE_BUSY ? 1 : day_failed(d, err);
}
