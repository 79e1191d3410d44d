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
	{"10s", STORE_STEP_S, 300, 2 * HOUR_S, 128 << 10},
	{"1m", 60, 300, 0, 64 << 10},
	{"10m", 600, 600, DAY_S, 32 << 10},
};

/* The sum of a target's buckets, once the day is over (compaction.h). */
#define TOTAL_TABLE                                                                                                    \
	"total(target integer, event integer, first integer, last integer, period integer, below integer, bytes blob," \
	" primary key(target, event))"

static const char schema[] =
	"create table target(id integer primary key, boot text not null, pid integer not null, start integer not null,"
	" since integer not null, unique(boot, pid, start));"
	"create table label(target integer, key text, value text, primary key(target, key)) without rowid;"
	"create table segment(tab integer, first integer, bytes blob, primary key(tab, first));"
	"create table bucket(id integer primary key, at integer, target integer, event integer, bytes blob,"
	" unique(at, target, event));"
	"create table " TOTAL_TABLE ";"
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
	[DAY_BUCKET] = "select bytes from bucket where id = ?",
	[DAY_REPLACE_BUCKET] = "update bucket set bytes = ?2 where id = ?1",
	[DAY_PUT_TOTAL] = "insert or replace into total values(?, ?, ?, ?, ?, ?, ?)",
	[DAY_TOTALS] = "select event, first, last, bytes, period from total where target = ?",
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

int day_ask(struct day *d, const char *sql, int64_t *ret, struct err *err)
{
	sqlite3_stmt *s = NULL;
	int r;

	*ret = 0;
	if (sqlite3_prepare_v2(d->db, sql, -1, &s, NULL) != SQLITE_OK)
		return day_failed(d, err);
	r = day_step(d, s, err);
	if (r > 0)
		*ret = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return r;
}

int day_run(struct day *d, const char *text, struct err *err)
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
	while ((r = day_step(d, s, err)) > 0) {
		const char *sql = (const char *)sqlite3_column_text(s, 0);

		if (!is_own_table(sql)) {
			r = day_damaged(d, "its tables are not those of a store", err);
			break;
		}
		d->has_totals |= strstr(sql, TOTAL_TABLE) != NULL;
	}
	sqlite3_finalize(s);
	return r;
}

/* Files of the builds before there were totals lack their table. */
static int add_table(struct day *d, struct err *err)
{
	int r = d->has_totals ? 0 : day_run(d, "create table " TOTAL_TABLE, err);

	d->has_totals |= r == 0;
	return r;
}

/* A new file's page size is set here; the version tells whether the file is new. */
static int check_version(struct day *d, enum day_use use, struct err *err)
{
	int64_t application = 0, version = 0;
	int r = day_ask(d, "pragma application_id", &application, err);

	if (r >= 0)
		r = day_ask(d, "pragma user_version", &version, err);
	if (r < 0)
		return r;
	if (application == DAY_APPLICATION_ID && version > DAY_VERSION)
		return err_set(err, -EPROTONOSUPPORT, "version %lld of the store, but this jsampler knows only %d",
			       (long long)version, DAY_VERSION);
	if (application == DAY_APPLICATION_ID && version == DAY_VERSION) {
		r = check_tables(d, err);
		return r == 0 && use != DAY_READS ? add_table(d, err) : r;
	}
	if (application || version)
		return day_damaged(d, "it is not a file of a store", err);
	if (use != DAY_ADDS)
		return err_set(err, -ENOENT, "empty");
	r = day_run(d, "begin", err);
	if (r == 0)
		r = day_run(d, schema, err);
	return r < 0 ? r : day_run(d, "commit", err);
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
	    sqlite3_busy_timeout(d->db, 2000) == SQLITE_OK && day_run(d, "begin", err) == 0 &&
	    day_ask(d, "pragma user_version", &ignored, err) >= 0) {
		d->begun = true;
		return 0;
	}
	if (sqlite3_errcode(d->db) != SQLITE_CANTOPEN && sqlite3_errcode(d->db) != SQLITE_READONLY)
		return day_failed(d, err);
	if (open_unwritable(path, &d->db) != SQLITE_OK)
		return day_failed(d, err);
	d->begun = true;
	return day_run(d, "begin", err);
}

/* Whoever rewrites can wait until the next time. */
static int open_to_write(struct day *d, const char *path, enum day_use use, struct err *err)
{
	int create = use == DAY_ADDS ? SQLITE_OPEN_CREATE : 0;

	if (sqlite3_open_v2(path, &d->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | create, NULL) != SQLITE_OK)
		return day_failed(d, err);
	sqlite3_busy_timeout(d->db, use == DAY_ADDS ? 2000 : 0);
	return day_run(d,
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
	r = use == DAY_READS ? open_to_read(d, path, err) : open_to_write(d, path, use, err);
	if (r == 0)
		r = day_run(d, "pragma trusted_schema = off; pragma cell_size_check = on; pragma temp_store = memory;",
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
