#include "sampler/store/compaction.h"

#include <errno.h>
#include <stdlib.h>

#include "sampler/store/compaction_plan.h"
#include "sampler/store/day/day.h"
#include "sampler/store/day/day_dictionary.h"
#include "sampler/store/stacks/bucket.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/renumber.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/vec.h"

enum {
	/* Stacks of a batch, which is rewritten at once. For each, all segments are read that have some of them. */
	STACKS_MAX = 1 << 15,
	/* Services share a batch if they have fewer than that, or there would be too many. */
	STACKS_OWN = 1 << 10,
	BATCHES = 64,
	/* Nodes of one service that are known after a batch: 40 MB with their index. Beyond it, some are there again. */
	KNOWN_MAX = 1 << 20,
	SEGMENTS = 16, /* deleted at once */
	ROWS_MAX = 1 << 21, /* of a batch: 32 MB */
	PAGES = 64, /* of 8 kB, moved at once */
	EVENTS_MAX = 64, /* of a target */
	TRIES = 100, /* to cut off what is free, while there are readers */
};

/* What a piece may take, whatever the file claims: bytes of a bucket, which has a stack in about five of them. */
enum { BUCKET_MAX = 4 << 20 };

/* The sum of all buckets of one event of a target. */
struct total {
	int64_t event;
	struct day_total of;
	struct bucket sum;
};

/* CUTS: the log is copied, and the file cut off where it ends now. */
enum phase { WANTS, MAKES, REWRITES, SAVES, DROPS, SHRINKS, CUTS };

struct compaction {
	struct day *day;
	struct compaction_plan plan;
	struct dictionary *nodes; /* the new ones of a service; no other tables */
	enum phase phase;
	size_t first, at, end; /* the batch, in plan.buckets; at: the next one */
	struct renumber renumber; /* for its stacks */
	uint32_t stacks, stacks_max; /* how many there are, and may be */
	struct buf plain; /* of one bucket */
	VEC(struct total) totals; /* of the target whose buckets are being rewritten */
	unsigned tries;
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
	compaction_plan_done(&c->plan);
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

static bool new_nodes(struct compaction *c)
{
	uint32_t n = c->nodes ? dictionary_count(c->nodes, DICT_NODES) : c->plan.count;

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
	if (r == 0)
		r = compaction_plan_make(c->day, &c->plan, err);
	if (r <= 0)
		return r;
	c->stacks_max = STACKS_MAX;
	if (!new_nodes(c))
		return no_memory(err);
	*ret = take_ptr(c);
	return 0;
}

/* --- pieces --- */

static const struct compaction_place *place(const struct compaction *c)
{
	return &c->plan.buckets.v[c->at];
}

/* The bucket at c->at. */
static int read_bucket(struct compaction *c, struct bucket_reader *ret, uint64_t sums[BUCKET_SUMS], struct err *err)
{
	int r = day_fetch_bucket(c->day, place(c)->row, BUCKET_MAX, &c->plain, err);

	if (r == 0)
		bucket_begin(ret, c->plain.data, c->plain.len, sums);
	return r;
}

static int begin_renumbering(struct compaction *c)
{
	c->renumber = (struct renumber){.to = c->nodes, .fetch = day_fetch_nodes, .ctx = c->day, .max = ROWS_MAX};
	c->stacks = 0;
	return renumber_segments(&c->renumber, c->plan.segments.v, c->plan.segments.n, c->plan.count);
}

static int want_stacks(struct compaction *c, struct err *err)
{
	uint64_t ignored[BUCKET_SUMS] = {0};
	struct bucket_reader reader;
	struct bucket_count count;
	bool new;
	int r = read_bucket(c, &reader, ignored, err);

	if (r < 0)
		return r;
	while ((r = bucket_next(&reader, &count)) > 0) {
		r = renumber_want(&c->renumber, count.node, &new);
		if (r < 0)
			return day_dictionary_failed(c->day, r, err);
		c->stacks += new;
	}
	c->at++;
	return r < 0 ? day_damaged(c->day, "samples", err) : 0;
}

static bool is_other_service(const struct compaction *c)
{
	return c->at > 0 && c->at < c->plan.buckets.n &&
	       c->plan.buckets.v[c->at].service != c->plan.buckets.v[c->at - 1].service;
}

/* Small services are rewritten together. */
static bool is_enough(const struct compaction *c)
{
	size_t buckets = c->at - c->first;

	return c->at == c->plan.buckets.n || c->stacks >= c->stacks_max ||
	       (is_other_service(c) && c->stacks >= STACKS_OWN && buckets >= c->plan.buckets.n / BATCHES);
}

static int want_some(struct compaction *c, struct err *err)
{
	int r = c->at == c->first ? day_dictionary_failed(c->day, begin_renumbering(c), err) : 0;

	if (r == 0 && !is_enough(c))
		return want_stacks(c, err);
	c->phase = c->at > c->first ? MAKES : DROPS;
	return r;
}

/* Stacks that are very deep take more memory. */
static int take_fewer(struct compaction *c)
{
	renumber_done(&c->renumber);
	c->renumber = (struct renumber){0};
	c->stacks_max = c->stacks_max / 2 + 1;
	c->at = c->first;
	c->phase = WANTS;
	return 0;
}

static int make_some(struct compaction *c, struct err *err)
{
	int r = renumber_some(&c->renumber, err);

	if (r == -E2BIG && c->at > c->first + 1)
		return take_fewer(c);
	if (r != 0)
		return r < 0 ? day_dictionary_failed(c->day, r == -E2BIG ? -EBADMSG : r, err) : 0;
	c->end = c->at;
	c->at = c->first;
	c->phase = REWRITES;
	return day_begin(c->day, err);
}

/* NULL: out of memory, or too many events. */
static struct total *total_of(struct compaction *c, uint64_t period)
{
	int64_t at = place(c)->at, event = place(c)->event, end = at + day_steps[c->day->id.step].seconds;
	struct total new = {.event = event, .of = {.first_s = at, .below = c->plan.below}}, *t;
	size_t i = 0;

	while (i < c->totals.n && c->totals.v[i].event != event)
		i++;
	if (i == c->totals.n && (i == EVENTS_MAX || !vec_push(&c->totals, new)))
		return NULL;
	t = &c->totals.v[i];
	if (at < t->of.first_s)
		t->of.first_s = at;
	if (end > t->of.last_s) {
		t->of.last_s = end;
		t->of.period = period;
	}
	return t;
}

/* In the new numbers. */
static int read_counts(struct compaction *c, struct bucket_reader *reader, struct bucket *ret, struct bucket *total)
{
	struct bucket_count count;
	int r;

	bucket_period(ret, reader->period);
	bucket_period(total, reader->period);
	for (int i = 0; i < BUCKET_SUMS; i++)
		total->sums[i] += ret->sums[i];
	while ((r = bucket_next(reader, &count)) > 0) {
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
	struct bucket_reader reader;
	int r = read_bucket(c, &reader, b.sums, err);
	struct total *t = r == 0 ? total_of(c, reader.period) : NULL;

	if (r < 0)
		return r;
	r = t ? read_counts(c, &reader, &b, &t->sum) : -ENOMEM;
	if (r < 0)
		return r == -EBADMSG ? day_damaged(c->day, "samples", err) : no_memory(err);
	return day_replace_bucket(c->day, place(c)->row, &b, err);
}

/* If the target has no more buckets. */
static int put_totals(struct compaction *c, int64_t target, struct err *err)
{
	int r = 0;

	if (c->at < c->plan.buckets.n && c->plan.buckets.v[c->at].target == target)
		return 0;
	for (size_t i = 0; r == 0 && i < c->totals.n; i++) {
		struct total *t = &c->totals.v[i];

		r = day_put_total(c->day, target, t->event, &t->of, &t->sum, err);
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
	return r < 0 ? r : put_totals(c, c->plan.buckets.v[c->at - 1].target, err);
}

static int drop_some(struct compaction *c, struct err *err)
{
	int r = day_begin(c->day, err);

	for (int i = 0; r == 0 && i < SEGMENTS && c->plan.segments.n; i++) {
		const int64_t key[] = {DICT_NODES, c->plan.segments.v[--c->plan.segments.n]};

		if (key[1] < c->plan.below)
			r = day_step(c->day, day_statement(c->day, DAY_DROP_SEGMENT, key, 2), err);
	}
	if (!c->plan.segments.n)
		c->phase = SHRINKS;
	return r < 0 ? r : day_commit(c->day, err);
}

static int shrink_some(struct compaction *c, struct err *err)
{
	int r = day_shrink(c->day, PAGES, err);

	if (r == 0)
		c->phase = CUTS;
	return r < 0 ? r : 0;
}

enum { ENDED, MORE, LATER };

/* While a transaction of a reader needs the log, the file stays as large as it was. */
static int cut(struct compaction *c, struct err *err)
{
	int r = day_cut(c->day, err);

	return r <= 0 || ++c->tries == TRIES ? (r < 0 ? r : ENDED) : LATER;
}

static int work_some(struct compaction *c, struct err *err)
{
	int r = 0;

	switch (c->phase) {
	case WANTS: r = want_some(c, err); break;
	case MAKES: r = make_some(c, err); break;
	case REWRITES: r = rewrite_some(c, err); break;
	case SAVES: r = save_some(c, err); break;
	case DROPS: r = drop_some(c, err); break;
	case SHRINKS: r = shrink_some(c, err); break;
	case CUTS: return cut(c, err);
	}
	return r < 0 ? r : MORE;
}

int compaction_work(struct compaction *c, uint64_t cpu_ns, struct err *err)
{
	uint64_t until = clock_thread_cpu_ns() + cpu_ns;
	int r;

	do
		r = work_some(c, err);
	while (r == MORE && clock_thread_cpu_ns() < until);
	return r < 0 ? r : r != ENDED;
}
