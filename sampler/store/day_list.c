#include "sampler/store/day_list.h"

#include <errno.h>
#include <string.h>

#include "sampler/store/bucket.h"
#include "sampler/store/day.h"
#include "sampler/store/day_read.h"
#include "sampler/store/day_targets.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/frame_bits.h"
#include "sampler/store/target_id.h"
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
	if (!vec_push(&l->rows, row) || !slots_add(&l->index, hash, (uint32_t)l->rows.n - 1))
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

static uint8_t leaf_kind(const struct dictionary *dict, uint32_t node)
{
	uint32_t frame = dictionary_row(dict, DICT_NODES, node)[1];

	return frame_bits_line(dictionary_row(dict, DICT_FRAMES, frame)[2]).kind;
}

static void add_bucket(const struct day *d, const struct bucket *b, int64_t at, struct store_row *row)
{
	uint64_t end = (uint64_t)at + day_steps[d->id.step].seconds;

	if (!row->last_s || (uint64_t)at < row->first_s)
		row->first_s = (uint64_t)at;
	if (end > row->last_s) {
		row->last_s = end;
		row->period = b->period;
	}
	for (uint32_t i = 0; i < b->n; i++) {
		row->samples += b->counts[i].count;
		row->weight += b->counts[i].weight;
		row->by_kind[leaf_kind(d->dict, b->counts[i].node)] += b->counts[i].weight;
	}
}

/* Buckets come by target. */
struct listing {
	struct store_list *list;
	int64_t target, row; /* the last one */
};

static int list_bucket(struct day *d, sqlite3_stmt *s, struct listing *g, struct err *err)
{
	int64_t target = sqlite3_column_int64(s, 1);
	struct bucket b = {0};
	int r;

	if (target != g->target) {
		g->row = find_row(d, target, g->list, err);
		if (g->row < 0)
			return (int)g->row;
		g->target = target;
	}
	if (g->row == NO_ROW)
		return 0;
	r = day_row_bucket(d, s, 3, &b, err);
	if (r == 0)
		add_bucket(d, &b, sqlite3_column_int64(s, 0), &g->list->rows.v[g->row]);
	bucket_done(&b);
	return r;
}

int day_list(struct day *d, const struct store_query *q, int64_t from_s, int64_t to_s, struct store_list *l,
	     struct err *err)
{
	struct listing g = {.list = l, .target = -1};
	struct day_sums ignored = {0};
	day_numbers targets = {0};
	sqlite3_stmt *s;
	int r = day_choose_targets(d, q, &targets, &ignored, err);

	if (r < 0) {
		vec_done(&targets);
		return r;
	}
	s = day_statement(d, DAY_BUCKETS, (int64_t[]){from_s, to_s}, 2);
	while ((r = day_step(d, s, err)) > 0) {
		if (!day_is_chosen(&targets, sqlite3_column_int64(s, 1)) ||
		    !day_event_is(d, sqlite3_column_int64(s, 2), q->event))
			continue;
		r = list_bucket(d, s, &g, err);
		if (r < 0)
			break;
	}
	sqlite3_reset(s);
	vec_done(&targets);
	return r;
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
	struct day_sums ignored = {0};
	bool all = !q->n_labels && !q->pid;
	int r = all ? 0 : day_choose_targets(d, q, &targets, &ignored, err);

	while (r == 0 && (r = day_step(d, s, err)) > 0) {
		int64_t target = sqlite3_column_int64(s, 1);

		r = all || !target || day_is_chosen(&targets, target) ? pass_on(d, s, happening, ctx, err) : 0;
	}
	sqlite3_reset(s);
	vec_done(&targets);
	return r;
}
