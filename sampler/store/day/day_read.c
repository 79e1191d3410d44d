#include "sampler/store/day/day_read.h"

#include <errno.h>

#include "sampler/store/day/day.h"
#include "sampler/store/day/day_buckets.h"
#include "sampler/store/day/day_dictionary.h"
#include "sampler/store/day/day_targets.h"
#include "sampler/store/stacks/bucket.h"
#include "sampler/store/stacks/excerpt.h"
#include "sampler/store/stacks/samples.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"

/* Counts of one node are compared with a new one up to this many; the rest is added up at the end. */
enum { COMPARED = 64 };

/* A count in the file's numbers. */
struct count {
	struct bucket_count c;
	uint32_t next; /* index + 1 of another with the same node, but another label; 0: none */
};

struct reading {
	struct day *day;
	struct samples *samples;
	struct excerpt names; /* marks of nodes: index + 1 of the node's latest count */
	day_numbers targets; /* those that the query selects, ascending */
	VEC(struct count) counts;
};

static void reading_done(struct reading *rd)
{
	excerpt_done(&rd->names);
	vec_done(&rd->targets);
	vec_done(&rd->counts);
}

/* --- counts --- */

static void note_step(const struct reading *rd, const struct day_bucket *b, uint64_t period)
{
	struct samples *s = rd->samples;

	if (!s->last_s || b->at < s->first_s)
		s->first_s = b->at;
	if (b->end_s > s->last_s)
		s->last_s = b->end_s;
	s->unit = b->unit;
	s->buckets++;
	if (!s->sum.n && !rd->counts.n)
		s->sum.period = period;
	else if (s->sum.period != period)
		s->sum.period = 0;
}

static int add_count(struct reading *rd, const struct bucket_count *c, struct err *err)
{
	struct count new = {.c = *c};
	uint32_t *mark, compared = 0;
	int r = excerpt_mark(&rd->names, DICT_NODES, c->node, &mark, err);

	if (r < 0)
		return r;
	for (uint32_t i = *mark; i && compared < COMPARED; i = rd->counts.v[i - 1].next, compared++) {
		struct count *known = &rd->counts.v[i - 1];

		if (known->c.label != c->label)
			continue;
		known->c.count += c->count;
		known->c.weight += c->weight;
		return 0;
	}
	new.next = *mark;
	r = excerpt_want(&rd->names, DICT_LABELS, c->label, err);
	if (r == 0 && (rd->counts.n >= EXCERPT_WANTED - 1 || !vec_push(&rd->counts, new)))
		r = -ENOMEM;
	if (r == 0)
		*mark = (uint32_t)rd->counts.n;
	return r;
}

/* All buckets of a day use the same numbers, so they are added up before names are looked up. */
static int add_bucket(void *ctx, const struct day_bucket *b, struct err *err)
{
	struct reading *rd = ctx;
	struct bucket_reader reader;
	struct bucket_count c;
	int r;

	bucket_begin(&reader, b->bytes, b->len, rd->samples->sum.sums);
	note_step(rd, b, reader.period);
	while ((r = bucket_next(&reader, &c)) > 0)
		if ((r = add_count(rd, &c, err)) < 0)
			return day_dictionary_failed(rd->day, r, err);
	return r < 0 ? day_damaged(rd->day, "samples", err) : 0;
}

/* --- in the numbers of all files --- */

static int hand_over(struct reading *rd)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < rd->counts.n; i++) {
		const struct bucket_count *c = &rd->counts.v[i].c;

		r = bucket_count(&rd->samples->sum, excerpt_id(&rd->names, DICT_NODES, c->node),
				 excerpt_id(&rd->names, DICT_LABELS, c->label), c->count, c->weight);
	}
	return r;
}

/* In milliseconds; times before the start become its first one. */
static uint32_t since_start(int64_t ms, int64_t start_s)
{
	int64_t since = ms - start_s * 1000;

	return !ms ? 0 : since < 1 ? 1 : since > UINT32_MAX ? UINT32_MAX : (uint32_t)since;
}

static int note_compile(struct reading *rd, sqlite3_stmt *s, struct err *err)
{
	int64_t function = sqlite3_column_int64(s, 0), why = sqlite3_column_int64(s, 1);
	int64_t start_s = rd->samples->base_s;
	struct named_compile c = {
		.c1_ms = since_start(sqlite3_column_int64(s, 2), start_s),
		.c2_ms = since_start(sqlite3_column_int64(s, 3), start_s),
		.not_entrant = (uint32_t)sqlite3_column_int64(s, 4),
	};
	uint32_t id =
		function > 0 && function <= UINT32_MAX ? excerpt_id(&rd->names, DICT_FUNCTIONS, (uint32_t)function) : 0;
	int r = 0;

	/* Functions without samples are not needed. */
	if (id && why > 0 && why <= UINT32_MAX)
		r = excerpt_add(&rd->names, DICT_STRINGS, (uint32_t)why, &c.why_interpreted, err);
	return r < 0 || !id ? r : samples_compiled(rd->samples, id, &c);
}

static int read_notes(struct reading *rd, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < rd->targets.n; i++) {
		sqlite3_stmt *s = day_statement(rd->day, DAY_NOTES, &rd->targets.v[i], 1);

		while ((r = day_step(rd->day, s, err)) > 0)
			if ((r = note_compile(rd, s, err)) < 0)
				return day_dictionary_failed(rd->day, r, err);
	}
	return r;
}

int day_read(struct day *d, const struct store_query *q, int64_t from_s, int64_t to_s, struct samples *s,
	     struct err *err)
{
	CLEANUP(reading_done)
	struct reading rd = {.day = d, .samples = s};
	struct day_range range = {&rd.targets, q->event, from_s, to_s, .totals = true};
	int r = day_choose_targets(d, q, &rd.targets, &s->of, err);

	if (r == 0)
		r = day_excerpt_begin(d, s->names, &rd.names, err);
	if (r == 0)
		r = day_each_bucket(d, &range, &rd.names, add_bucket, &rd, err);
	if (r < 0)
		return r;
	r = excerpt_make(&rd.names, err);
	if (r == 0)
		r = hand_over(&rd);
	return r < 0 ? day_dictionary_failed(d, r, err) : read_notes(&rd, err);
}
