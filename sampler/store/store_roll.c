#include "sampler/store/store_roll.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/store/bucket.h"
#include "sampler/store/day.h"
#include "sampler/store/day_names.h"
#include "sampler/store/stacks/dictionary.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"

struct rolling {
	struct day *from, *to;
	int64_t at;
	uint32_t *ids[DICT_TABLES]; /* dictionary_translate() */
	struct bucket sum; /* the sum for one target and event, in the numbers of `from` */
	int64_t target, event; /* the current ones; numbers in `from` */
};

static void rolling_done(struct rolling *ro)
{
	for (int t = 0; t < DICT_TABLES; t++)
		free(ro->ids[t]);
	bucket_done(&ro->sum);
}

static uint32_t translate(struct rolling *ro, enum dictionary_table t, uint32_t id)
{
	return dictionary_translate(ro->from->dict, t, id, ro->to->dict, ro->ids);
}

static const char *column(sqlite3_stmt *s, int i)
{
	const char *text = (const char *)sqlite3_column_text(s, i);

	return text ? text : "";
}

static int copy_labels(struct rolling *ro, int64_t target, struct err *err)
{
	sqlite3_stmt *s = day_statement(ro->from, DAY_LABELS, &ro->target, 1);
	int r;

	while ((r = day_step(ro->from, s, err)) > 0)
		if ((r = day_set_label(ro->to, target, column(s, 0), column(s, 1), err)) < 0)
			break;
	return r;
}

/* Finds or adds the target in the other file. */
static int copy_target(struct rolling *ro, int64_t *ret, struct err *err)
{
	sqlite3_stmt *s = day_statement(ro->from, DAY_TARGET, &ro->target, 1);
	int r = day_step(ro->from, s, err);
	struct store_target t;

	if (r <= 0)
		return r < 0 ? r : day_damaged(ro->from, "targets", err);
	t = (struct store_target){
		.boot_id = column(s, 0),
		.pid = (pid_t)sqlite3_column_int64(s, 1),
		.start_ticks = (uint64_t)sqlite3_column_int64(s, 2),
		.since_ns = (uint64_t)sqlite3_column_int64(s, 3),
	};
	r = day_target(ro->to, &t, ret, err);
	if (r == 0)
		r = copy_labels(ro, *ret, err);
	sqlite3_reset(s);
	return r;
}

static int copy_note(struct rolling *ro, int64_t target, sqlite3_stmt *s, struct err *err)
{
	int64_t function = sqlite3_column_int64(s, 0), why = sqlite3_column_int64(s, 1);
	const struct dictionary *dict = ro->from->dict;

	if (function <= 0 || function >= dictionary_count(dict, DICT_FUNCTIONS) || why < 0 ||
	    why >= dictionary_count(dict, DICT_STRINGS) || !ro->ids[DICT_FUNCTIONS][function] ||
	    dictionary_is_left_out(ro->to->dict, ro->ids[DICT_FUNCTIONS][function]))
		return 0;
	return day_step(
		ro->to,
		day_statement(ro->to, DAY_NOTE,
			      (int64_t[]){target, ro->ids[DICT_FUNCTIONS][function],
					  translate(ro, DICT_STRINGS, (uint32_t)why), sqlite3_column_int64(s, 2),
					  sqlite3_column_int64(s, 3), sqlite3_column_int64(s, 4)},
			      6),
		err);
}

/* Only for functions that were translated, which are those with samples. */
static int copy_notes(struct rolling *ro, int64_t target, struct err *err)
{
	sqlite3_stmt *s = day_statement(ro->from, DAY_NOTES, &ro->target, 1);
	int r;

	while ((r = day_step(ro->from, s, err)) > 0)
		if ((r = copy_note(ro, target, s, err)) < 0)
			break;
	return r;
}

static int translate_bucket(struct rolling *ro, struct bucket *ret)
{
	int r = 0;

	for (int i = 0; i < BUCKET_SUMS; i++)
		ret->sums[i] = ro->sum.sums[i];
	ret->period = ro->sum.period;
	for (uint32_t i = 0; r == 0 && i < ro->sum.n; i++) {
		const struct bucket_count *c = &ro->sum.counts[i];
		uint32_t node, label;

		if (!dictionary_has_node(ro->from->dict, c->node))
			return -ESTALE;
		node = translate(ro, DICT_NODES, c->node);
		label = translate(ro, DICT_LABELS, c->label);
		r = node == UINT32_MAX || label == UINT32_MAX ? -ENOMEM :
								bucket_count(ret, node, label, c->count, c->weight);
	}
	return r;
}

static int copy_sum(struct rolling *ro, int64_t target, struct err *err)
{
	CLEANUP(bucket_done) struct bucket b = {0};
	uint32_t event = translate(ro, DICT_EVENTS, (uint32_t)ro->event);
	int r = event == UINT32_MAX ? -ENOMEM : translate_bucket(ro, &b);

	if (r < 0)
		return err_set(err, r, "%s", strerror(-r));
	r = day_put_bucket(ro->to, ro->at, target, event, &b, err);
	return r < 0 ? r : copy_notes(ro, target, err);
}

static int put_sum(struct rolling *ro, struct err *err)
{
	int64_t target;
	int r;

	if (ro->event < 0 || ro->event >= dictionary_count(ro->from->dict, DICT_EVENTS))
		return day_damaged(ro->from, "events", err);
	r = copy_target(ro, &target, err);
	if (r < 0)
		return r;
	r = day_names_begin(ro->to, target, err);
	if (r < 0)
		return r;
	r = copy_sum(ro, target, err);
	day_names_end(ro->to, target);
	return r;
}

/* Rows are sorted by target and event. */
static int add_row(struct rolling *ro, sqlite3_stmt *s, bool first, struct err *err)
{
	int64_t target = sqlite3_column_int64(s, 1), event = sqlite3_column_int64(s, 2);
	int r = 0;

	if (!first && (target != ro->target || event != ro->event)) {
		r = put_sum(ro, err);
		bucket_done(&ro->sum);
	}
	ro->target = target;
	ro->event = event;
	return r < 0 ? r : day_row_bucket(ro->from, s, 3, &ro->sum, err);
}

int store_roll(struct day *from, struct day *to, int64_t at, struct err *err)
{
	CLEANUP(rolling_done) struct rolling ro = {.from = from, .to = to, .at = at};
	sqlite3_stmt *s = day_statement(from, DAY_BUCKETS, (int64_t[]){at, at + day_steps[to->id.step].seconds}, 2);
	bool first = true;
	int r;

	for (int t = 0; t < DICT_TABLES; t++)
		if (!(ro.ids[t] = calloc(dictionary_count(from->dict, t), sizeof(uint32_t))))
			return err_set(err, -ENOMEM, "out of memory");
	while ((r = day_step(from, s, err)) > 0) {
		if ((r = add_row(&ro, s, first, err)) < 0)
			break;
		first = false;
	}
	sqlite3_reset(s);
	return r < 0 || first ? r : put_sum(&ro, err);
}
