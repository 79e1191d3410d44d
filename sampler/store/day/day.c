#include "sampler/store/day/day.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sampler/store/day/day_dictionary.h"
#include "sampler/store/stacks/bucket.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/pack.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"

/* pragma application_id and user_version: "JSam", and the version of the tables, which changes with them once files of a release exist. */
#define DAY_APPLICATION "1246978413"
enum { DAY_APPLICATION_ID = 1246978413, DAY_VERSION = 1 };

/*
 * Pages of 8 kB that may be in the log before they are copied to the file: bounds the log's size and the loss by a
 * power cut.
 */
#define CHECKPOINT_PAGES "256"

enum { HOUR_S = 3600 };

const struct day_step day_steps[STORE_STEPS] = {
	{"10s", STORE_STEP_S, 2 * HOUR_S, 128 << 10},
	{"1m", 60, 2 * HOUR_S, 64 << 10},
	{"10m", 600, DAY_S, 32 << 10},
};

static const char schema[] =
	"create table target(id integer primary key, boot text not null, pid integer not null, start integer not null,"
	" since integer not null, unique(boot, pid, start));"
	"create table label(target integer, key text, value text, primary key(target, key)) without rowid;"
	"create table segment(tab integer, first integer, bytes blob, primary key(tab, first));"
	"create table bucket(id integer primary key, at integer, target integer, event integer, bytes blob,"
	" unique(at, target, event));"
	/* The sum of a target's buckets, once the day is over (store_compact.h). */
	"create table total(target integer, event integer, first integer, last integer, bytes blob,"
	" primary key(target, event));"
	"create table note(target integer, function integer, why integer, c1_ms integer, c2_ms integer,"
	" not_entrant integer, primary key(target, function)) without rowid;"
	/* Start times of the next wider step whose buckets have not been added up yet. */
	"create table waiting(at integer primary key);"
	/* What happened; only in files of the widest step, which are kept longest. No target: of the whole host. */
	"create table happening(id integer primary key, at_ns integer not null, target integer, kind text not null,"
	" text not null);"
	"pragma application_id = " DAY_APPLICATION ";"
	"pragma user_version = 1;";

static const char *const statements[DAY_STATEMENTS] = {
	[DAY_FIND_TARGET] = "select id from target where pid = ? and start = ? and boot = ?",
	[DAY_ADD_TARGET] = "insert into target(pid, start, since, boot) values(?, ?, ?, ?)",
	[DAY_SET_LABEL] = "insert or replace into label(target, key, value) values(?, ?, ?)",
	[DAY_SAVE_SEGMENT] = "insert or replace into segment(tab, first, bytes) values(?, ?, ?)",
	[DAY_FIND_BUCKET] = "select bytes from bucket where at = ? and target = ? and event = ?",
	[DAY_PUT_BUCKET] = "insert or replace into bucket(at, target, event, bytes) values(?, ?, ?, ?)",
	/* A time of 0 is unknown; the larger count and the first reason are kept. */
	[DAY_NOTE] = "insert into note values(?1, ?2, ?3, ?4, ?5, ?6) on conflict do update set"
		     " why = iif(why, why, ?3), c1_ms = iif(c1_ms and (c1_ms < ?4 or not ?4), c1_ms, ?4),"
		     " c2_ms = iif(c2_ms and (c2_ms < ?5 or not ?5), c2_ms, ?5), not_entrant = max(not_entrant, ?6)",
	[DAY_WAIT] = "insert or ignore into waiting values(?)",
	[DAY_DONE_WAITING] = "delete from waiting where at = ?",
	[DAY_WAITING] = "select at from waiting where at >= ? and at < ? order by at",
	[DAY_BUCKETS] = "select at, target, event, bytes from bucket where at >= ? and at < ? order by target, event",
	[DAY_SEGMENTS] = "select tab, first from segment order by tab, first",
	[DAY_SEGMENT] = "select bytes from segment where tab = ? and first = ?",
	/* All columns are in the index, so buckets that nobody wants cost little. */
	[DAY_FIND_BUCKETS] = "select id, at, target, event from bucket where at >= ? and at < ? order by at",
	[DAY_BUCKET] = "select bytes, at, event from bucket where id = ?",
	[DAY_REPLACE_BUCKET] = "update bucket set bytes = ?2 where id = ?1",
	[DAY_PUT_TOTAL] = "insert or replace into total(target, event, first, last, bytes) values(?, ?, ?, ?, ?)",
	[DAY_TOTALS] = "select event, first, last, bytes from total where target = ?",
	[DAY_DROP_SEGMENT] = "delete from segment where tab = ? and first = ?",
	[DAY_NOTES] = "select function, why, c1_ms, c2_ms, not_entrant from note where target = ?",
	[DAY_TARGETS] = "select id from target order by id",
	[DAY_TARGET] = "select boot, pid, start, since from target where id = ?",
	[DAY_LABELS] = "select key, value from label where target = ?",
	[DAY_ADD_HAPPENING] = "insert into happening(at_ns, target, kind, text) values(?, nullif(?, 0), ?, ?)",
	[DAY_HAPPENINGS] =
		"select at_ns, target, kind, text from happening where at_ns >= ? and at_ns < ? order by at_ns, id",
};

void day_name(struct day_id id, char dst[DAY_NAME])
{
	time_t t = (time_t)id.date * DAY_S;
	struct tm tm;

	gmtime_r(&t, &tm);
	snprintf(dst, DAY_NAME, "%04d-%02d-%02d-%s.db", (tm.tm_year + 1900) % 10000, tm.tm_mon + 1, tm.tm_mday,
		 day_steps[id.step].name);
}

bool day_id_of(const char *name, struct day_id *ret)
{
	struct tm tm = {0};
	const char *rest = strptime(name, "%Y-%m-%d-", &tm);
	char again[DAY_NAME];

	for (unsigned i = 0; rest && i < STORE_STEPS; i++) {
		*ret = (struct day_id){timegm(&tm) / DAY_S, i};
		day_name(*ret, again);
		if (strcmp(name, again) == 0)
			return true;
	}
	return false;
}

bool day_is_spoilt(int r)
{
	return r == -EBADMSG || r == -EPROTONOSUPPORT;
}

static int errno_of(int sqlite)
{
	switch (sqlite & 0xff) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_ERROR: /* a table is missing */
	case SQLITE_MISMATCH: return -EBADMSG;
	case SQLITE_FULL: return -ENOSPC;
	case SQLITE_NOMEM: return -ENOMEM;
	case SQLITE_READONLY: return -EROFS;
	case SQLITE_BUSY: return -EBUSY;
	case SQLITE_CANTOPEN: return -ENOENT;
	case SQLITE_PERM:
	case SQLITE_AUTH: return -EACCES;
	default: return -EIO;
	}
}

int day_failed(struct day *d, struct err *err)
{
	char name[DAY_NAME];
	int r = errno_of(sqlite3_errcode(d->db));

	day_name(d->id, name);
	d->spoilt |= r == -EBADMSG;
	return err_set(err, r, "%s: %s", name, sqlite3_errmsg(d->db));
}

int day_damaged(struct day *d, const char *what, struct err *err)
{
	char name[DAY_NAME];

	day_name(d->id, name);
	d->spoilt = true;
	return err_set(err, -EBADMSG, "%s is damaged: %s", name, what);
}

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

sqlite3_stmt *day_statement(struct day *d, enum day_sql sql, const int64_t *values, int n)
{
	sqlite3_stmt **s = &d->statements[sql];

	if (!*s && sqlite3_prepare_v3(d->db, statements[sql], -1, SQLITE_PREPARE_PERSISTENT, s, NULL) != SQLITE_OK)
		return NULL;
	sqlite3_reset(*s);
	for (int i = 0; i < n; i++)
		if (sqlite3_bind_int64(*s, i + 1, values[i]) != SQLITE_OK)
			return NULL;
	return *s;
}

int day_step(struct day *d, sqlite3_stmt *s, struct err *err)
{
	int rc = s ? sqlite3_step(s) : SQLITE_ERROR, r = 0;

	if (rc == SQLITE_ROW)
		return 1;
	if (rc != SQLITE_DONE)
		r = day_failed(d, err);
	sqlite3_reset(s);
	return r;
}

static int pragma(struct day *d, const char *text, int64_t *ret, struct err *err)
{
	sqlite3_stmt *s = NULL;
	int r;

	if (sqlite3_prepare_v2(d->db, text, -1, &s, NULL) != SQLITE_OK)
		return day_failed(d, err);
	r = day_step(d, s, err);
	if (r > 0)
		*ret = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return r < 0 ? r : 0;
}

static int run(struct day *d, const char *text, struct err *err)
{
	return sqlite3_exec(d->db, text, NULL, NULL, NULL) == SQLITE_OK ? 0 : day_failed(d, err);
}

/*
 * A history may come from another user or machine. Anything but the tables above could make a query run for ever (a view), or
 * run code that no history needs (a virtual table).
 */
static bool is_own_table(const char *sql)
{
	static const char create[] = "CREATE TABLE "; /* SQLite keeps the text from the name on */

	return sql && strncmp(sql, create, sizeof(create) - 1) == 0 && strstr(schema, sql + sizeof(create) - 1);
}

static int check_tables(struct day *d, struct err *err)
{
	sqlite3_stmt *s = NULL;
	int r;

	if (sqlite3_prepare_v2(d->db,
			       "select sql from sqlite_master where sql is not null and name not glob 'sqlite_*'", -1,
			       &s, NULL) != SQLITE_OK)
		return day_failed(d, err);
	while ((r = day_step(d, s, err)) > 0)
		if (!is_own_table((const char *)sqlite3_column_text(s, 0))) {
			r = day_damaged(d, "its tables are not those of a store", err);
			break;
		}
	sqlite3_finalize(s);
	return r;
}

/* A new file's page size is set here; the version tells whether the file is new. */
static int check_version(struct day *d, enum day_use use, struct err *err)
{
	int64_t application = 0, version = 0;
	int r = pragma(d, "pragma application_id", &application, err);

	if (r == 0)
		r = pragma(d, "pragma user_version", &version, err);
	if (r < 0)
		return r;
	if (application == DAY_APPLICATION_ID && version > DAY_VERSION)
		return err_set(err, -EPROTONOSUPPORT, "version %lld of the store, but this jsampler knows only %d",
			       (long long)version, DAY_VERSION);
	if (application == DAY_APPLICATION_ID && version == DAY_VERSION)
		return check_tables(d, err);
	if (application || version)
		return day_damaged(d, "it is not a file of a store", err);
	if (use != DAY_ADDS)
		return err_set(err, -ENOENT, "empty");
	r = run(d, "begin", err);
	if (r == 0)
		r = run(d, schema, err);
	return r < 0 ? r : run(d, "commit", err);
}

/*
 * Without write permission the log cannot be used; a file without a log can still be read. immutable:
 * sqlite.org/uri.html.
 */
static int open_unwritable(const char *path, sqlite3 **db)
{
	CLEANUP(buf_done) struct buf uri = {0};
	char log[4096];

	if (snprintf(log, sizeof(log), "%s-wal", path) >= (int)sizeof(log) || access(log, F_OK) == 0)
		return SQLITE_CANTOPEN;
	buf_add_z(&uri, "file:");
	for (const char *p = path; *p; p++)
		if (strchr("%?#", *p))
			buf_printf(&uri, "%%%02x", (unsigned char)*p);
		else
			buf_add(&uri, p, 1);
	buf_add_z(&uri, "?immutable=1");
	if (uri.failed)
		return SQLITE_NOMEM;
	sqlite3_close(*db);
	return sqlite3_open_v2(uri.data, db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_URI, NULL);
}

static int open_to_read(struct day *d, const char *path, struct err *err)
{
	int64_t ignored;

	if (sqlite3_open_v2(path, &d->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOFOLLOW, NULL) == SQLITE_OK &&
	    sqlite3_busy_timeout(d->db, 2000) == SQLITE_OK && run(d, "begin", err) == 0 &&
	    pragma(d, "pragma user_version", &ignored, err) == 0) {
		d->begun = true;
		return 0;
	}
	if (sqlite3_errcode(d->db) != SQLITE_CANTOPEN && sqlite3_errcode(d->db) != SQLITE_READONLY)
		return day_failed(d, err);
	if (open_unwritable(path, &d->db) != SQLITE_OK)
		return day_failed(d, err);
	d->begun = true;
	return run(d, "begin", err);
}

static int open_to_write(struct day *d, const char *path, int create, struct err *err)
{
	if (sqlite3_open_v2(path, &d->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | create, NULL) != SQLITE_OK)
		return day_failed(d, err);
	sqlite3_busy_timeout(d->db, 2000);
	return run(d,
		   "pragma page_size = 8192; pragma auto_vacuum = incremental; pragma journal_mode = wal;"
		   "pragma synchronous = normal;"
		   "pragma wal_autocheckpoint = " CHECKPOINT_PAGES "; pragma cache_size = -512;",
		   err);
}

static void day_close_at_exit(struct day **d)
{
	day_close(*d);
}

static _Atomic uint64_t openings;

static int open_file(struct day *d, const char *path, enum day_use use, struct err *err)
{
	if (use == DAY_READS)
		return open_to_read(d, path, err);
	return open_to_write(d, path, use == DAY_ADDS ? SQLITE_OPEN_CREATE : 0, err);
}

int day_open(const char *dir, struct day_id id, enum day_use use, struct day **ret, struct err *err)
{
	CLEANUP(day_close_at_exit) struct day *d = calloc(1, sizeof(*d));
	char path[4096], name[DAY_NAME];
	int r;

	day_name(id, name);
	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return err_set(err, -ENAMETOOLONG, "%.200s: the name is too long", dir);
	if (!d || !(d->pack = pack_new()) || (use == DAY_ADDS && !(d->dict = dictionary_new())))
		return no_memory(err);
	d->id = id;
	d->opening = atomic_fetch_add(&openings, 1);
	r = open_file(d, path, use, err);
	if (r == 0)
		r = run(d, "pragma trusted_schema = off; pragma cell_size_check = on; pragma temp_store = memory;",
			err);
	if (r == 0)
		r = check_version(d, use, err);
	if (r == 0 && use == DAY_ADDS)
		r = day_load(d, err);
	if (r == 0)
		*ret = take_ptr(d);
	return r;
}

void day_close(struct day *d)
{
	if (!d)
		return;
	for (int i = 0; i < DAY_STATEMENTS; i++)
		sqlite3_finalize(d->statements[i]);
	sqlite3_close(d->db);
	dictionary_free(d->dict);
	pack_free(d->pack);
	free(d->names);
	if (d->rolled)
		d->rolled_free(d->rolled);
	free(d);
}

int day_begin(struct day *d, struct err *err)
{
	int r = d->begun ? 0 : run(d, "begin immediate", err);

	d->begun = r == 0;
	return r;
}

static int save_segment(struct day *d, enum dictionary_table t, uint32_t first, const struct buf *plain, bool settled,
			struct err *err)
{
	CLEANUP(buf_done) struct buf packed = {0};
	sqlite3_stmt *s;

	if (pack_add(d->pack, plain, settled, &packed) < 0)
		return no_memory(err);
	s = day_statement(d, DAY_SAVE_SEGMENT, (int64_t[]){t, first}, 2);
	if (!s || sqlite3_bind_blob64(s, 3, packed.data, packed.len, SQLITE_STATIC) != SQLITE_OK)
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
	r = save_segment(d, t, first, &plain, dict->settled[t] > first, err);
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

static void age(struct day *d)
{
	int64_t age = d->last_at / day_steps[d->id.step].remembered_s;

	if (age <= d->age)
		return;
	if (d->age)
		dictionary_age(d->dict);
	d->age = age;
}

int day_commit(struct day *d, struct err *err)
{
	int r = save_all(d, err);

	if (r == 0 && d->begun)
		r = run(d, "commit", err);
	if (r == 0)
		d->begun = false;
	if (r == 0 && d->dict) {
		dictionary_forget(d->dict);
		age(d);
	}
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

int day_row_bucket(struct day *d, sqlite3_stmt *s, int column, struct bucket *b, struct err *err)
{
	CLEANUP(buf_done) struct buf plain = {0};
	int r = day_unpack(d, s, column, DAY_BUCKET_MAX, &plain);

	if (r == 0)
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
	CLEANUP(buf_done) struct buf plain = {0}, packed = {0};

	bucket_write(b, &plain);
	if (pack_add(d->pack, &plain, false, &packed) < 0)
		return no_memory(err);
	if (!s || sqlite3_bind_blob64(s, column, packed.data, packed.len, SQLITE_STATIC) != SQLITE_OK)
		return day_failed(d, err);
	return day_step(d, s, err);
}

static int delete_totals(struct day *d, struct err *err)
{
	int r = d->totals_gone ? 0 : run(d, "delete from total", err);

	d->totals_gone |= r == 0;
	return r;
}

int day_put_bucket(struct day *d, int64_t at, int64_t target, int64_t event, struct bucket *b, struct err *err)
{
	int r = delete_totals(d, err);

	d->last_at = at;
	return r < 0 ? r :
		       write_bucket(d, day_statement(d, DAY_PUT_BUCKET, (int64_t[]){at, target, event}, 3), 4, b, err);
}

int day_replace_bucket(struct day *d, int64_t row, struct bucket *b, struct err *err)
{
	return write_bucket(d, day_statement(d, DAY_REPLACE_BUCKET, &row, 1), 2, b, err);
}

int day_put_total(struct day *d, int64_t target, int64_t event, int64_t first_s, int64_t last_s, struct bucket *b,
		  struct err *err)
{
	return write_bucket(d, day_statement(d, DAY_PUT_TOTAL, (int64_t[]){target, event, first_s, last_s}, 4), 5, b,
			    err);
}

int day_shrink(struct day *d, unsigned n, struct err *err)
{
	char text[48];
	int64_t before = 0, after = 0;
	int r;

	snprintf(text, sizeof(text), "pragma incremental_vacuum(%u)", n);
	r = pragma(d, "pragma freelist_count", &before, err);
	if (r == 0 && before)
		r = run(d, text, err);
	if (r == 0 && before)
		r = pragma(d, "pragma freelist_count", &after, err);
	return r < 0 ? r : after && after < before;
}
