#ifndef JS_STORE_DAY_H
#define JS_STORE_DAY_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/store/day/query.h"
#include "sampler/store/stacks/dictionary.h"

struct bucket;
struct buf;
struct err;
struct pack;
struct rolled;

/*
 * One file of the store: the buckets of one UTC day and step, the dictionary of their numbers (dictionary.h), and the
 * targets. It is self-contained. It uses a write-ahead log, so that readers and the one writer do not wait for each
 * other, and a writer that is killed leaves what it has committed.
 */
struct day_id {
	int64_t date; /* days since 1970-01-01 */
	unsigned step; /* index into day_steps */
};

struct day_step {
	const char *name; /* "10s" */
	uint32_t seconds; /* a multiple of the previous one; divides a day */
	/*
	 * A stack that has samples in two successive periods of this length recurs, and keeps its node. The node of another is
	 * forgotten after the second. That of a file which does not remember stacks itself must be the same as the finer step's.
	 */
	uint32_t recurs_s;
	/*
	 * A stack that recurs keeps its node for one to two of these. Each new node takes room, but old ones are all over the file, and
	 * a page of an hour has to read all that its stacks' nodes are among. 0: what adds up the finer step remembers them,
	 * for as long as that step's file does (store_roll.c).
	 */
	uint32_t remembered_s;
	/*
	 * Bytes of a settled segment of nodes. Larger ones take up to a fifth less, as the frames of a stack are often those of
	 * another. In the file of the widest step, a small one has mostly new stacks of a single target, so that a page of
	 * another need not unpack it.
	 */
	uint32_t node_segment;
};

extern const struct day_step day_steps[STORE_STEPS];

/* BUCKET_MAX: bytes of a bucket, when reading. */
enum { DAY_NAME = 32, DAY_S = 86400, DAY_BUCKET_MAX = 256 << 20 };

static inline struct day_id day_of(uint64_t seconds, unsigned step)
{
	return (struct day_id){(int64_t)(seconds / DAY_S), step};
}

void day_name(struct day_id id, char dst[DAY_NAME]); /* "2026-11-24-10s.db" */
bool day_id_of(const char *name, struct day_id *ret); /* false: not the name of such a file */

/* Statements on the file; see day_statement(). */
enum day_sql {
	DAY_FIND_TARGET,
	DAY_ADD_TARGET,
	DAY_SET_LABEL,
	DAY_SAVE_SEGMENT,
	DAY_FIND_BUCKET,
	DAY_PUT_BUCKET,
	DAY_NOTE,
	DAY_WAIT,
	DAY_DONE_WAITING,
	DAY_WAITING,
	DAY_BUCKETS,
	DAY_SEGMENTS,
	DAY_SEGMENT,
	DAY_FIND_BUCKETS,
	DAY_BUCKET,
	DAY_REPLACE_BUCKET,
	DAY_DROP_SEGMENT,
	DAY_PUT_TOTAL,
	DAY_TOTALS,
	DAY_NOTES,
	DAY_TARGETS,
	DAY_TARGET,
	DAY_LABELS,
	DAY_ADD_HAPPENING,
	DAY_HAPPENINGS,
	DAY_STATEMENTS
};

struct day {
	struct day_id id;
	sqlite3 *db;
	sqlite3_stmt *statements[DAY_STATEMENTS];
	struct dictionary *dict; /* DAY_ADDS; NULL: excerpts are taken (day_dictionary.h) */
	struct pack *pack;
	bool begun; /* a transaction is open */
	uint64_t unpacked; /* bytes of names and buckets, which most of reading costs */
	bool spoilt; /* damaged: the file should be set aside */
	bool has_totals; /* there is a table for them */
	bool totals_gone; /* DAY_ADDS: they were deleted */
	struct day_names *names; /* how they are shared out; NULL: nothing was added yet */
	struct rolled *rolled; /* of a writer, numbers in the file of the wider step (store_roll.h); NULL: none yet */
	void (*rolled_free)(struct rolled *r);
	uint64_t opening; /* tells apart what was opened one after the other */
};

enum day_use {
	DAY_READS, /* in a transaction, during which the file does not change */
	DAY_ADDS, /* creates the file if needed, and loads its dictionary */
	DAY_REWRITES, /* what is there, without a dictionary */
};

/* Close *ret with day_close(). -EBADMSG: damaged; -EPROTONOSUPPORT: of a newer version; -ENOENT. */
int day_open(const char *dir, struct day_id id, enum day_use use, struct day **ret, struct err *err);
void day_close(struct day *d); /* NULL is allowed; uncommitted changes are lost */
bool day_is_spoilt(int r); /* of day_open(): -EBADMSG or -EPROTONOSUPPORT */

/* A transaction; day_commit() also saves the dictionary's new rows. */
int day_begin(struct day *d, struct err *err);
int day_commit(struct day *d, struct err *err);
/* Saves one segment of new rows, of any dictionary whose numbers the file has. 1: there may be more, 0: there are none. */
int day_save(struct day *d, struct dictionary *dict, enum dictionary_table t, struct err *err);

/* A statement with its first n values, integers, bound; NULL: damaged or out of memory (day_failed()). */
sqlite3_stmt *day_statement(struct day *d, enum day_sql sql, const int64_t *values, int n);
/* 1: a row, 0: the end, or -errno. */
int day_step(struct day *d, sqlite3_stmt *s, struct err *err);
/* Any statement, or several. */
int day_run(struct day *d, const char *sql, struct err *err);
/* *ret: the first column of the first row, or 0. 1: there is one, 0: there is none. */
int day_ask(struct day *d, const char *sql, int64_t *ret, struct err *err);
/* The error of the last call as -errno; *err names the file. */
int day_failed(struct day *d, struct err *err);
int day_damaged(struct day *d, const char *what, struct err *err); /* -EBADMSG */

/* Appends the plain bytes of a packed column. -EBADMSG or -ENOMEM. */
int day_unpack(struct day *d, sqlite3_stmt *s, int column, size_t max, struct buf *ret);

/* The target's number in this file; if the target is new, its labels are set. */
int day_target(struct day *d, const struct store_target *t, int64_t *ret, struct err *err);
int day_set_label(struct day *d, int64_t target, const char *key, const char *value, struct err *err);

/* Adds the bucket of (at, target, event) to `b`, if there is one. */
int day_get_bucket(struct day *d, int64_t at, int64_t target, int64_t event, struct bucket *b, struct err *err);
/* Adds the bucket in a row of DAY_BUCKETS to `b`. For a writer, as day_get_bucket(). */
int day_row_bucket(struct day *d, sqlite3_stmt *s, int column, struct bucket *b, struct err *err);
/* Replaces *ret by the plain bytes of a packed bucket, which may have `max`: of a column, or of a row of the table. */
int day_unpack_bucket(struct day *d, sqlite3_stmt *s, int column, size_t max, struct buf *ret, struct err *err);
int day_fetch_bucket(struct day *d, int64_t row, size_t max, struct buf *ret, struct err *err);
/* Replaces the one with that row number. */
int day_replace_bucket(struct day *d, int64_t row, struct bucket *b, struct err *err);
/*
 * Adds or replaces the sum of all buckets of a target and event. As soon as a bucket is added to the file, all totals are
 * deleted.
 */
struct day_total {
	int64_t first_s, last_s; /* when the first bucket begins, and the last one ends */
	uint64_t period; /* of the last one */
	uint32_t below; /* its nodes have this number or a higher one */
};
int day_put_total(struct day *d, int64_t target, int64_t event, const struct day_total *t, struct bucket *b,
		  struct err *err);
/* Gives the space of up to n free pages back to the file system. 1: there may be more. */
int day_shrink(struct day *d, unsigned n, struct err *err);
/* Copies the log to the file, and empties it. 1: not now, since a reader needs it. */
int day_cut(struct day *d, struct err *err);
/* Of a writer: what is added from now on begins at this time. Stacks are remembered accordingly (day_steps[]). */
void day_period(struct day *d, int64_t at);
/* Replaces the bucket of (at, target, event). */
int day_put_bucket(struct day *d, int64_t at, int64_t target, int64_t event, struct bucket *b, struct err *err);

#endif
