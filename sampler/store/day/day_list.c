#include "sampler/store/day/day_list.h"

#include <errno.h>
#include <string.h>

#include "sampler/store/day/day.h"
#include "sampler/store/day/day_buckets.h"
#include "sampler/store/day/day_dictionary.h"
#include "sampler/store/day/day_targets.h"
#include "sampler/store/day/target_id.h"
#include "sampler/store/stacks/bucket.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/excerpt.h"
#include "sampler/store/stacks/samples.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/hash.h"

#define NO_ROW INT64_MAX

void store_list_done(struct store_list *l)
{
	vec_done(&l->rows);
	slots_done(&l->index);
	arena_done(&l->texts);
}

static bool is_same(const void *ctx, const void *wanted, uint32_t position)
{
	const struct store_list *l = ctx;

	return target_id_is_same(&l->rows.v[position].target, wanted);
}

static uint64_t hash_target(const struct store_target *t)
{
	return hash_mix(hash_mix(hash_bytes_secret(t->boot_id, strlen(t->boot_id)), (uint64_t)t->pid), t->start_ticks);
}

static int64_t add_row(struct day *d, int64_t target, uint64_t hash, struct store_list *l, struct err *err)
{
	struct store_row row = {0};
	int r = day_read_target(d, target, &l->texts, &row.target, err);

	if (r < 0)
		return r;
	if (!slots_push(&l->index, hash, &l->rows, row))
		return err_set(err, -ENOMEM, "out of memory");
	return (int64_t)l->rows.n - 1;
}

/* The index of a target's row, new if it has none yet; NO_ROW: there are enough. */
static int64_t find_row(struct day *d, int64_t target, struct store_list *l, struct err *err)
{
	struct store_target t = {0};
	int r = day_read_process(d, target, &t, err);
	uint64_t hash;
	uint32_t i;

	if (r < 0)
		return r;
	hash = hash_target(&t);
	i = slots_find(&l->index, hash, is_same, l, &t);
	sqlite3_reset(d->statements[DAY_TARGET]);
	if (i != SLOTS_NONE)
		return i;
	return l->rows.n < l->max ? add_row(d, target, hash, l, err) : NO_ROW;
}

/* --- samples --- */

enum { NOT_KNOWN = -1 };

struct listing {
	struct store_list *list;
	struct day *day;
	struct dictionary *dict; /* of leaves */
	struct excerpt names;
	day_numbers targets;
	VEC(int64_t) rows; /* by target */
};

static void listing_done(struct listing *g)
{
	excerpt_done(&g->names);
	dictionary_free(g->dict);
	vec_done(&g->targets);
	vec_done(&g->rows);
}

static int want_leaves(void *ctx, const struct day_bucket *b, struct err *err)
{
	struct listing *g = ctx;

	return day_want_nodes(g->day, b, &g->names, err);
}

static int add_bucket(struct listing *g, const struct day_bucket *b, struct store_row *row, struct err *err)
{
	uint64_t at = (uint64_t)b->at, end = (uint64_t)b->end_s, ignored[BUCKET_SUMS] = {0};
	struct bucket_reader reader;
	struct bucket_count c;
	int r;

	bucket_begin(&reader, b->bytes, b->len, ignored);
	if (!row->last_s || at < row->first_s)
		row->first_s = at;
	if (end > row->last_s) {
		row->last_s = end;
		row->period = b->is_total ? b->period : reader.period;
	}
	while ((r = bucket_next(&reader, &c)) > 0) {
		row->samples += c.count;
		row->weight += c.weight;
		row->by_kind[dictionary_kind(g->dict, excerpt_id(&g->names, DICT_NODES, c.node))] += c.weight;
	}
	return r < 0 ? day_damaged(g->day, "samples", err) : 0;
}

static int list_bucket(void *ctx, const struct day_bucket *b, struct err *err)
{
	struct listing *g = ctx;
	int64_t *row = &g->rows.v[b->target];

	if (*row == NOT_KNOWN) {
		int64_t found = find_row(g->day, g->targets.v[b->target], g->list, err);

		if (found < 0)
			return (int)found;
		*row = found;
	}
	return *row == NO_ROW ? 0 : add_bucket(g, b, &g->list->rows.v[*row], err);
}

static int list_all(struct listing *g, const struct day_range *range, struct err *err)
{
	int r = day_excerpt_begin(g->day, g->dict, &g->names, err);

	if (r == 0)
		r = day_each_bucket(g->day, range, &g->names, want_leaves, g, err);
	if (r == 0)
		r = day_dictionary_failed(g->day, excerpt_make(&g->names, err), err);
	return r < 0 ? r : day_each_bucket(g->day, range, &g->names, list_bucket, g, err);
}

int day_list(struct day *d, const struct store_query *q, int64_t from_s, int64_t to_s, struct store_list *l,
	     struct err *err)
{
	CLEANUP(listing_done)
	struct listing g = {.list = l, .day = d, .dict = dictionary_new(), .names = {.leaves = true}};
	struct day_range range = {&g.targets, q->event, from_s, to_s, .totals = true};
	struct target_texts ignored = {0};
	int r = day_choose_targets(d, q, &g.targets, &ignored, err);

	if (r < 0)
		return r;
	if (!g.dict || !vec_reach(&g.rows, g.targets.n, NOT_KNOWN))
		return err_set(err, -ENOMEM, "out of memory");
	return list_all(&g, &range, err);
}

/* --- what happened --- */

static const char *column_text(sqlite3_stmt *s, int column)
{
	const char *text = (const char *)sqlite3_column_text(s, column);

	return text ? text : "";
}

static int pass_on(struct day *d, sqlite3_stmt *s, store_happening_fn *happening, void *ctx, struct err *err)
{
	struct store_happening h = {.at_ns = (uint64_t)sqlite3_column_int64(s, 0)};
	int64_t target = sqlite3_column_int64(s, 1);
	struct arena texts = {0};
	int r = target ? day_read_target(d, target, &texts, &h.target, err) : 0;

	h.kind = column_text(s, 2);
	h.text = column_text(s, 3);
	if (r == 0)
		r = happening(ctx, &h);
	arena_done(&texts);
	return r;
}

int day_list_happenings(struct day *d, const struct store_query *q, store_happening_fn *happening, void *ctx,
			struct err *err)
{
	int64_t to = q->to_ns < INT64_MAX ? (int64_t)q->to_ns : INT64_MAX;
	sqlite3_stmt *s = day_statement(d, DAY_HAPPENINGS, (int64_t[]){(int64_t)q->from_ns, to}, 2);
	day_numbers targets = {0};
	struct target_texts ignored = {0};
	bool all = !q->n_labels && !q->pid;
	int r = all ? 0 : day_choose_targets(d, q, &targets, &ignored, err);

	while (r == 0 && (r = day_step(d, s, err)) > 0) {
		int64_t target = sqlite3_column_int64(s, 1);
		size_t index;

		r = all || !target || day_find_target(&targets, target, &index) ? pass_on(d, s, happening, ctx, err) :
										  0;
	}
	sqlite3_reset(s);
	vec_done(&targets);
	return r;
}
