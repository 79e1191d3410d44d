#include "sampler/store/store_compact.h"

#include <errno.h>
#include <stdlib.h>

#include "sampler/store/day/day.h"
#include "sampler/store/day/day_dictionary.h"
#include "sampler/store/stacks/bucket.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/renumber.h"
#include "sampler/store/stacks/segment_rows.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/base/u64map.h"
#include "symbolizer/base/vec.h"

enum {
	/* Stacks that are rewritten at once. Each time, all segments are read that have some of them. */
	STACKS_MAX = 1 << 15,
	STACKS_TOGETHER = 1 << 10, /* of services that have fewer */
	/* Nodes of one service that are known: 26 MB. Beyond it, some are there again. */
	KNOWN_MAX = 1 << 20,
	SEGMENTS = 16, /* deleted at once */
	PAGES = 64, /* of 8 kB, moved at once */
};

struct place {
	int64_t row, target; /* of the bucket */
	uint32_t service;
};

/* The sum of all buckets of one event of a target. */
struct total {
	int64_t event, first_s, last_s;
	struct bucket sum;
};

enum phase { WANTS, MAKES, REWRITES, SAVES, DROPS, SHRINKS };

struct compaction {
	struct day *day;
	VEC(uint32_t) segments; /* first nodes of those that are there so far */
	uint32_t count; /* one more than the number of the last node in them */
	VEC(struct place) buckets; /* one service after the other */
	struct dictionary *nodes; /* the new ones of a service; no other tables */
	enum phase phase;
	size_t first, at, end; /* of the buckets that are rewritten at once; at: the next one */
	struct renumber renumber; /* for their stacks */
	uint32_t stacks; /* how many there are */
	struct buf plain; /* of one bucket */
	VEC(struct total) totals; /* of the target whose buckets are being rewritten */
};

static void forget_totals(struct compaction *c)
{
	for (size_t i = 0; i < c->totals.n; i++)
		bucket_done(&c->totals.v[i].sum);
	c->totals.n = 0;
}

void compaction_end(struct compaction *c)
{
	if (!c)
		return;
	forget_totals(c);
	vec_done(&c->totals);
	renumber_done(&c->renumber);
	dictionary_free(c->nodes);
	vec_done(&c->buckets);
	vec_done(&c->segments);
	buf_done(&c->plain);
	day_close(c->day);
	free(c);
}

static void end_at_exit(struct compaction **c)
{
	compaction_end(*c);
}

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

/* --- what there is --- */

static int query(struct day *d, const char *sql, sqlite3_stmt **ret, struct err *err)
{
	return sqlite3_prepare_v2(d->db, sql, -1, ret, NULL) == SQLITE_OK ? 0 : day_failed(d, err);
}

/* Numbers of services by target. */
static int read_services(struct day *d, struct u64map *ret, struct err *err)
{
	struct strtab *texts = strtab_new();
	sqlite3_stmt *s = NULL;
	int r = texts ? query(d, "select target, value from label where key = 'service'", &s, err) : no_memory(err);

	while (r >= 0 && (r = day_step(d, s, err)) > 0) {
		uint64_t target = (uint64_t)sqlite3_column_int64(s, 0);
		const char *text = (const char *)sqlite3_column_text(s, 1);
		uint32_t service = text ? strtab_add_z(texts, text) : 0;

		if (service == UINT32_MAX || (target && service && !u64map_put(ret, target, service)))
			r = no_memory(err);
	}
	sqlite3_finalize(s);
	strtab_free(texts);
	return r;
}

static int by_order(const void *va, const void *vb)
{
	const struct place *a = va, *b = vb;

	return ascending(a->service, b->service) ?: ascending(a->target, b->target) ?: ascending(a->row, b->row);
}

static int read_places(struct compaction *c, const struct u64map *services, struct err *err)
{
	sqlite3_stmt *s = NULL;
	int r = query(c->day, "select id, target from bucket", &s, err);

	while (r >= 0 && (r = day_step(c->day, s, err)) > 0) {
		struct place p = {.row = sqlite3_column_int64(s, 0), .target = sqlite3_column_int64(s, 1)};

		p.service = u64map_get(services, (uint64_t)p.target);
		r = vec_push(&c->buckets, p) ? 0 : no_memory(err);
	}
	sqlite3_finalize(s);
	if (c->buckets.n)
		qsort(c->buckets.v, c->buckets.n, sizeof(*c->buckets.v), by_order);
	return r;
}

static int order_buckets(struct compaction *c, struct err *err)
{
	struct u64map services = {0};
	int r = read_services(c->day, &services, err);

	if (r == 0)
		r = read_places(c, &services, err);
	u64map_done(&services);
	return r;
}

/* 1: yes. */
static int is_waiting(struct day *d, struct err *err)
{
	sqlite3_stmt *s = day_statement(d, DAY_WAITING, (int64_t[]){0, INT64_MAX}, 2);
	int r = day_step(d, s, err);

	if (s)
		sqlite3_reset(s);
	return r;
}

static int count_last(struct compaction *c, uint32_t first, struct err *err)
{
	CLEANUP(buf_done) struct buf plain = {0};
	uint32_t n = 0;
	int r = day_fetch_segment(c->day, DICT_NODES, first, &plain, err);

	if (r == 0)
		r = segment_count_rows(&plain, DICT_NODES, first, &n);
	c->count = first + n;
	return r == 0 && c->count > UINT32_MAX / 2 ? -EBADMSG : r; /* twice as many must have a number */
}

/* A file whose first nodes are gone was compacted. What has been added to it since is little. 1: there is something to do. */
static int read_segments(struct compaction *c, struct err *err)
{
	sqlite3_stmt *s = day_statement(c->day, DAY_SEGMENTS, NULL, 0);
	int r;

	while ((r = day_step(c->day, s, err)) > 0) {
		int64_t first = sqlite3_column_int64(s, 1);

		if (sqlite3_column_int64(s, 0) != DICT_NODES)
			continue;
		r = first < 1 || first > UINT32_MAX ? -EBADMSG : vec_push(&c->segments, (uint32_t)first) ? 0 : -ENOMEM;
		if (r < 0)
			break;
	}
	if (s)
		sqlite3_reset(s);
	if (r < 0)
		return day_dictionary_failed(c->day, r, err);
	if (!c->segments.n || c->segments.v[0] > 1)
		return 0;
	r = count_last(c, c->segments.v[c->segments.n - 1], err);
	return r < 0 ? day_dictionary_failed(c->day, r, err) : 1;
}

/* --- beginning --- */

static bool new_nodes(struct compaction *c)
{
	uint32_t n = c->nodes ? dictionary_count(c->nodes, DICT_NODES) : c->count;

	dictionary_free(c->nodes);
	c->nodes = dictionary_new();
	if (!c->nodes)
		return false;
	c->nodes->node_segment = day_steps[c->day->id.step].node_segment;
	dictionary_skip_nodes(c->nodes, n);
	return true;
}

int compaction_begin(const char *dir, struct day_id id, struct compaction **ret, struct err *err)
{
	CLEANUP(end_at_exit) struct compaction *c = calloc(1, sizeof(*c));
	int r = c ? day_open(dir, id, DAY_REWRITES, &c->day, err) : no_memory(err);

	*ret = NULL;
	if (r == 0 && (r = is_waiting(c->day, err)) > 0)
		return 0;
	if (r == 0 && (r = read_segments(c, err)) == 0)
		return 0;
	if (r > 0)
		r = order_buckets(c, err);
	if (r == 0 && !new_nodes(c))
		r = no_memory(err);
	if (r == 0)
		*ret = take_ptr(c);
	return r;
}

/* --- pieces --- */

/* The bucket at c->at. */
struct reading {
	struct bucket_reader counts;
	uint64_t sums[BUCKET_SUMS];
	int64_t at, event;
};

static int read_bucket(struct compaction *c, struct reading *ret, struct err *err)
{
	sqlite3_stmt *s = day_statement(c->day, DAY_BUCKET, &c->buckets.v[c->at].row, 1);
	int r = day_step(c->day, s, err);

	buf_reset(&c->plain);
	if (r > 0) {
		*ret = (struct reading){.at = sqlite3_column_int64(s, 1), .event = sqlite3_column_int64(s, 2)};
		r = day_unpack(c->day, s, 0, DAY_BUCKET_MAX, &c->plain);
	} else if (r == 0) {
		r = -EBADMSG;
	}
	if (s)
		sqlite3_reset(s);
	if (r == 0)
		bucket_begin(&ret->counts, c->plain.data, c->plain.len, ret->sums);
	return r;
}

static int fetch(void *ctx, uint32_t first, struct buf *ret, struct err *err)
{
	return day_fetch_segment(ctx, DICT_NODES, first, ret, err);
}

static int begin_renumbering(struct compaction *c)
{
	int r = 0;

	c->renumber = (struct renumber){.to = c->nodes, .fetch = fetch, .ctx = c->day};
	c->stacks = 0;
	for (size_t i = 0; r == 0 && i < c->segments.n; i++) {
		uint32_t first = c->segments.v[i], end = i + 1 < c->segments.n ? c->segments.v[i + 1] : c->count;

		r = renumber_segment(&c->renumber, first, end - first);
	}
	return r;
}

static int want_stacks(struct compaction *c, struct err *err)
{
	struct reading rd;
	struct bucket_count count;
	bool new;
	int r = read_bucket(c, &rd, err);

	while (r == 0 && (r = bucket_next(&rd.counts, &count)) > 0) {
		r = renumber_want(&c->renumber, count.node, &new);
		c->stacks += new;
	}
	c->at++;
	return r;
}

static bool is_other_service(const struct compaction *c)
{
	return c->at > 0 && c->at < c->buckets.n && c->buckets.v[c->at].service != c->buckets.v[c->at - 1].service;
}

/* Small services are rewritten together. */
static bool is_enough(const struct compaction *c)
{
	return c->at == c->buckets.n || c->stacks >= STACKS_MAX ||
	       (c->stacks >= STACKS_TOGETHER && is_other_service(c));
}

static int want_some(struct compaction *c, struct err *err)
{
	int r = 0;

	if (c->at == c->first)
		r = begin_renumbering(c);
	if (r == 0 && !is_enough(c))
		r = want_stacks(c, err);
	else
		c->phase = c->at > c->first ? MAKES : DROPS;
	return day_dictionary_failed(c->day, r, err);
}

static int make_some(struct compaction *c, struct err *err)
{
	int r = renumber_some(&c->renumber, err);

	if (r != 0)
		return r < 0 ? day_dictionary_failed(c->day, r, err) : 0;
	c->end = c->at;
	c->at = c->first;
	c->phase = REWRITES;
	return day_begin(c->day, err);
}

/* NULL: out of memory. */
static struct total *total_of(struct compaction *c, const struct reading *rd)
{
	int64_t end = rd->at + day_steps[c->day->id.step].seconds;
	size_t i = 0;

	while (i < c->totals.n && c->totals.v[i].event != rd->event)
		i++;
	if (i == c->totals.n &&
	    !vec_push(&c->totals, ((struct total){.event = rd->event, .first_s = rd->at, .last_s = end})))
		return NULL;
	if (rd->at < c->totals.v[i].first_s)
		c->totals.v[i].first_s = rd->at;
	if (end > c->totals.v[i].last_s)
		c->totals.v[i].last_s = end;
	return &c->totals.v[i];
}

/* In the new numbers. */
static int read_counts(struct compaction *c, struct reading *rd, struct bucket *ret, struct bucket *total)
{
	struct bucket_count count;
	int r;

	bucket_period(ret, rd->counts.period);
	bucket_period(total, rd->counts.period);
	for (int i = 0; i < BUCKET_SUMS; i++) {
		ret->sums[i] += rd->sums[i];
		total->sums[i] += rd->sums[i];
	}
	while ((r = bucket_next(&rd->counts, &count)) > 0) {
		count.node = renumber_id(&c->renumber, count.node);
		r = bucket_count(ret, count.node, count.label, count.count, count.weight);
		if (r == 0)
			r = bucket_count(total, count.node, count.label, count.count, count.weight);
		if (r < 0)
			break;
	}
	return r;
}

static int rewrite_bucket(struct compaction *c, struct err *err)
{
	CLEANUP(bucket_done) struct bucket b = {0};
	struct reading rd;
	int r = read_bucket(c, &rd, err);
	struct total *t = r == 0 ? total_of(c, &rd) : NULL;

	if (r == 0)
		r = t ? read_counts(c, &rd, &b, &t->sum) : -ENOMEM;
	if (r < 0)
		return day_dictionary_failed(c->day, r, err);
	return day_replace_bucket(c->day, c->buckets.v[c->at].row, &b, err);
}

/* If the target has no more buckets. */
static int put_totals(struct compaction *c, int64_t target, struct err *err)
{
	int r = 0;

	if (c->at < c->buckets.n && c->buckets.v[c->at].target == target)
		return 0;
	for (size_t i = 0; r == 0 && i < c->totals.n; i++) {
		struct total *t = &c->totals.v[i];

		r = day_put_total(c->day, target, t->event, t->first_s, t->last_s, &t->sum, err);
	}
	forget_totals(c);
	return r;
}

static bool knows_too_much(const struct compaction *c)
{
	return dictionary_count(c->nodes, DICT_NODES) - c->nodes->forgotten_nodes > KNOWN_MAX;
}

static int save_some(struct compaction *c, struct err *err)
{
	int r = day_save(c->day, c->nodes, DICT_NODES, err);

	if (r != 0)
		return r < 0 ? r : 0;
	r = day_commit(c->day, err);
	if (r == 0 && (is_other_service(c) || knows_too_much(c)))
		r = new_nodes(c) ? 0 : no_memory(err);
	renumber_done(&c->renumber);
	c->renumber = (struct renumber){0};
	c->first = c->at;
	c->phase = WANTS;
	return r;
}

static int rewrite_some(struct compaction *c, struct err *err)
{
	int r;

	if (c->at == c->end) {
		c->phase = SAVES;
		return 0;
	}
	r = rewrite_bucket(c, err);
	c->at++;
	return r < 0 ? r : put_totals(c, c->buckets.v[c->at - 1].target, err);
}

/* From the last to the first, which tells whether this was done. */
static int drop_some(struct compaction *c, struct err *err)
{
	int r = day_begin(c->day, err);

	for (int i = 0; r == 0 && i < SEGMENTS && c->segments.n; i++) {
		const int64_t key[] = {DICT_NODES, c->segments.v[--c->segments.n]};

		r = day_step(c->day, day_statement(c->day, DAY_DROP_SEGMENT, key, 2), err);
	}
	if (!c->segments.n)
		c->phase = SHRINKS;
	return r < 0 ? r : day_commit(c->day, err);
}

/* 1: there is more to do. */
static int work_some(struct compaction *c, struct err *err)
{
	int r = 0;

	switch (c->phase) {
	case WANTS: r = want_some(c, err); break;
	case MAKES: r = make_some(c, err); break;
	case REWRITES: r = rewrite_some(c, err); break;
	case SAVES: r = save_some(c, err); break;
	case DROPS: r = drop_some(c, err); break;
	case SHRINKS: return day_shrink(c->day, PAGES, err);
	}
	return r < 0 ? r : 1;
}

int compaction_work(struct compaction *c, uint64_t cpu_ns, struct err *err)
{
	uint64_t until = clock_thread_cpu_ns() + cpu_ns;
	int r;

	do
		r = work_some(c, err);
	while (r > 0 && clock_thread_cpu_ns() < until);
	return r;
}
