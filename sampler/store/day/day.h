#ifndef JS_STORE_DAY_H
#define JS_STORE_DAY_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/store/day/query.h"

struct bucket;
struct buf;
struct dictionary;
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
	 * A stack keeps its node for one to two of these. Each new node takes room, but old ones are all over the file, and
	 * a page of an hour has to read all that its stacks' nodes are among.
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
	struct dictionary *dict; /* of a writer; NULL: of a reader, which takes excerpts (day_dictionary.h) */
	struct pack *pack;
	bool begun; /* a transaction is open */
	uint64_t unpacked; /* bytes of names and buckets, which most of reading costs */
	bool spoilt; /* damaged: the file should be set aside */
	struct day_names *names; /* how they are shared out; NULL: nothing was added yet */
	struct rolled *rolled; /* of a writer, numbers in the file of the wider step (store_roll.h); NULL: none yet */
	void (*rolled_free)(struct rolled *r);
	int64_t last_at,
		age; /* of a writer: the latest bucket, and its time in day_steps[].remembered_s when it was committed */
	uint64_t opening; /* tells apart what was opened one after the other */
};

/*
 * writes: creates the file if needed, and loads it. Otherwise begins a transaction, during which the file does not
 * change. Close *ret with day_close(). -EBADMSG: damaged; -EPROTONOSUPPORT: of a newer version; -ENOENT.
 */
int day_open(const char *dir, struct day_id id, bool writes, struct day **ret, struct err *err);
void day_close(struct day *d); /* NULL is allowed; uncommitted changes are lost */
bool day_is_spoilt(int r); /* of day_open(): -EBADMSG or -EPROTONOSUPPORT */

/* A transaction; day_commit() also saves the dictionary's new rows. */
int day_begin(struct day *d, struct err *err);
int day_commit(struct day *d, struct err *err);

/* A statement with its first n values, integers, bound; NULL: damaged or out of memory (day_failed()). */
sqlite3_stmt *day_statement(struct day *d, enum day_sql sql, const int64_t *values, int n);
/* 1: a row, 0: the end, or -errno. */
int day_step(struct day *d, sqlite3_stmt *s, struct err *err);
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
/* Replaces the bucket of (at, target, event). */
int day_put_bucket(struct day *d, int64_t at, int64_t target, int64_t event, struct bucket *b, struct err *err);

#endif
