#include "sampler/store/day_read.h"

#include <errno.h>

#include "sampler/profile/named_builder.h"
#include "sampler/store/bucket.h"
#include "sampler/store/day.h"
#include "sampler/store/day_targets.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/stacks_out.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"

struct reading {
	struct day *day;
	struct named_builder *b;
	struct stacks_out out;
	day_numbers targets; /* those that the query selects, ascending */
	struct bucket sum;
};

static void reading_done(struct reading *rd)
{
	stacks_out_done(&rd->out);
	vec_done(&rd->targets);
	bucket_done(&rd->sum);
}

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

static const char *text(const struct reading *rd, uint32_t string)
{
	return strtab_get(rd->day->dict->strings, string);
}

/* --- samples --- */

static void note_step(const struct day *d, int64_t at, struct day_sums *sum)
{
	int64_t end = at + day_steps[d->id.step].seconds;

	if (!sum->last_s || at < sum->first_s)
		sum->first_s = at;
	if (end > sum->last_s)
		sum->last_s = end;
	sum->buckets++;
}

/* All buckets of a day use the same numbers, so they are added up before names are looked up. */
static int add_buckets(struct reading *rd, const struct store_query *q, int64_t from_s, int64_t to_s,
		       struct day_sums *sum, struct err *err)
{
	sqlite3_stmt *s = day_statement(rd->day, DAY_BUCKETS, (int64_t[]){from_s, to_s}, 2);
	int r;

	while ((r = day_step(rd->day, s, err)) > 0) {
		int64_t event = sqlite3_column_int64(s, 2);
		const uint32_t *row;

		if (!day_is_chosen(&rd->targets, sqlite3_column_int64(s, 1)) || !day_event_is(rd->day, event, q->event))
			continue;
		row = dictionary_row(rd->day->dict, DICT_EVENTS, (uint32_t)event);
		named_builder_meta(rd->b)->unit = named_builder_keep(rd->b, text(rd, row[1]));
		r = day_row_bucket(rd->day, s, 3, &rd->sum, err);
		if (r < 0)
			break;
		note_step(rd->day, sqlite3_column_int64(s, 0), sum);
	}
	return r;
}

/* --- names --- */

/* false: the stacks that are read are too many. The sample counts as lost. */
static bool has_room(const struct reading *rd, const struct bucket_count *c, struct day_sums *sum)
{
	uint32_t depth = dictionary_depth(rd->day->dict, c->node);

	if (depth <= DAY_FRAMES_MAX - sum->frames) {
		sum->frames += depth;
		return true;
	}
	sum->left_out += c->count;
	named_builder_meta(rd->b)->lost += c->count;
	return false;
}

static int name_samples(struct reading *rd, struct day_sums *sum)
{
	for (uint32_t i = 0; i < rd->sum.n; i++) {
		const struct bucket_count *c = &rd->sum.counts[i];
		const uint32_t *label = dictionary_row(rd->day->dict, DICT_LABELS, c->label);
		struct named_sample s = {.count = c->count, .weight = c->weight};

		if (!has_room(rd, c, sum))
			continue;
		s.stack = stacks_out_stack(&rd->out, c->node);
		s.thread = named_builder_string(rd->b, text(rd, label[0]));
		s.state = named_builder_string(rd->b, text(rd, label[1]));
		if (named_builder_sample(rd->b, &s) == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

/* Times before the range become its first millisecond. */
static uint32_t since_start(int64_t ms, int64_t start_s)
{
	int64_t since = ms - start_s * 1000;

	return !ms ? 0 : since < 1 ? 1 : since > UINT32_MAX ? UINT32_MAX : (uint32_t)since;
}

static void note_compile(struct reading *rd, sqlite3_stmt *s, int64_t start_s)
{
	int64_t function = sqlite3_column_int64(s, 0), why = sqlite3_column_int64(s, 1);
	struct named_compile c = {
		.c1_ms = since_start(sqlite3_column_int64(s, 2), start_s),
		.c2_ms = since_start(sqlite3_column_int64(s, 3), start_s),
		.not_entrant = (uint32_t)sqlite3_column_int64(s, 4),
	};

	/* Functions without samples are not needed. */
	if (function <= 0 || function >= dictionary_count(rd->day->dict, DICT_FUNCTIONS) ||
	    !rd->out.functions[function])
		return;
	if (why > 0 && why < dictionary_count(rd->day->dict, DICT_STRINGS))
		c.why_interpreted = named_builder_string(rd->b, text(rd, (uint32_t)why));
	named_builder_compile(rd->b, rd->out.functions[function], &c);
}

static int read_notes(struct reading *rd, int64_t start_s, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < rd->targets.n; i++) {
		sqlite3_stmt *s = day_statement(rd->day, DAY_NOTES, &rd->targets.v[i], 1);

		while ((r = day_step(rd->day, s, err)) > 0)
			note_compile(rd, s, start_s);
	}
	return r;
}

static void add_meta(const struct bucket *b, struct named_meta *m)
{
	m->lost += b->sums[SUM_LOST];
	m->complete += b->sums[SUM_COMPLETE];
	m->resynchronised += b->sums[SUM_RESYNCHRONISED];
	m->incomplete += b->sums[SUM_INCOMPLETE];
	m->frozen += b->sums[SUM_FROZEN];
	m->no_record += b->sums[SUM_NO_RECORD];
	for (int i = 0; i < 4; i++)
		m->exactness[i] += b->sums[SUM_EXACTNESS + i];
}

int day_read(struct day *d, const struct store_query *q, int64_t from_s, int64_t to_s, struct named_builder *b,
	     struct day_sums *sum, struct err *err)
{
	CLEANUP(reading_done)
	struct reading rd = {.day = d, .b = b};
	uint32_t before = sum->buckets;
	int r;

	if (stacks_out_begin(&rd.out, d->dict, b) < 0)
		return no_memory(err);
	r = day_choose_targets(d, q, &rd.targets, sum, err);
	if (r == 0)
		r = add_buckets(&rd, q, from_s, to_s, sum, err);
	if (r < 0 || sum->buckets == before)
		return r;
	sum->period = !before || sum->period == rd.sum.period ? rd.sum.period : 0;
	add_meta(&rd.sum, named_builder_meta(b));
	if (name_samples(&rd, sum) < 0)
		return no_memory(err);
	return read_notes(&rd, sum->first_s, err);
}
