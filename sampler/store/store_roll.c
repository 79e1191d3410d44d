#include "sampler/store/store_roll.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/store/day/day.h"
#include "sampler/store/day/day_dictionary.h"
#include "sampler/store/day/day_names.h"
#include "sampler/store/stacks/bucket.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/recent.h"
#include "sampler/store/stacks/recurring.h"
#include "sampler/store/stacks/renumber.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/hash.h"

enum {
	NODES_MAX = 1 << 16, /* that are remembered (recurring.h); or as many as there are stacks */
	NOTES_MAX = 1 << 16,
	/* A note is remembered for one to two of these after its target had samples: most targets of a busy day have ended. */
	NOTES_S = 600,
};

/* What the numbers of one dictionary are in another: for dictionary_translate(). None of nodes. */
struct numbers {
	uint32_t *ids[DICT_TABLES];
	uint32_t room[DICT_TABLES];
};

/*
 * What numbers of one open file stand for in another: most of what is added up was there in the step before, too, and
 * would otherwise be translated, and its stacks be read from the file, each time. 2 to 4 MB on a busy host.
 */
struct rolled {
	uint64_t to; /* the other file's `opening` */
	struct numbers numbers;
	struct recurring nodes; /* see node_key() */
	struct recent notes; /* hashes of those that the other file has; 1 */
};

/* Nodes that the writer of a file has forgotten. */
struct reread {
	struct renumber renumber;
	struct dictionary *nodes; /* with the frames of the writer; NULL: nothing was read */
};

struct rolling {
	struct day *from, *to;
	int64_t at;
	struct rolled *known; /* from->rolled */
	struct reread reread;
	struct dictionary_frame *path; /* of one stack; room for DICT_DEPTH_MAX */
	struct bucket sum; /* the sum for one target and event, in the numbers of `from` */
	int64_t target, event; /* the current ones; numbers in `from` */
};

static void numbers_done(struct numbers *n)
{
	for (int t = 0; t < DICT_TABLES; t++)
		free(n->ids[t]);
}

/* Room for the numbers of `from`, which may have grown since the last time. */
static bool numbers_room(struct numbers *n, const struct dictionary *from)
{
	for (enum dictionary_table t = 0; t < DICT_TABLES; t++) {
		uint32_t count = t == DICT_NODES ? 0 : dictionary_count(from, t), *v;

		if (count <= n->room[t])
			continue;
		v = realloc(n->ids[t], count * sizeof(*v));
		if (!v)
			return false;
		memset(v + n->room[t], 0, (count - n->room[t]) * sizeof(*v));
		n->ids[t] = v;
		n->room[t] = count;
	}
	return true;
}

static void rolled_free(struct rolled *r)
{
	if (!r)
		return;
	numbers_done(&r->numbers);
	recurring_done(&r->nodes);
	recent_done(&r->notes);
	free(r);
}

static void rolling_done(struct rolling *ro)
{
	renumber_done(&ro->reread.renumber);
	dictionary_free(ro->reread.nodes);
	free(ro->path);
	bucket_done(&ro->sum);
}

/* Is it up to this step to remember the nodes of stacks, as the other file does not? */
static bool remembers_stacks(const struct day *from, const struct day *to)
{
	return !recurring_max(&to->dict->stacks) && day_steps[from->id.step].remembered_s;
}

static struct rolled *known_of(struct day *from, const struct day *to)
{
	struct rolled *r = from->rolled;

	if (!r || r->to != to->opening) {
		rolled_free(r);
		r = from->rolled = calloc(1, sizeof(*r));
		if (!r)
			return NULL;
		from->rolled_free = rolled_free;
		r->to = to->opening;
		r->notes.max = NOTES_MAX;
	}
	recurring_limit(&r->nodes, remembers_stacks(from, to) ? DICT_STACKS_MAX : NODES_MAX);
	return numbers_room(&r->numbers, from->dict) ? r : NULL;
}

/* What is not needed for the steps from that time on. */
static void forget_old(struct rolling *ro, int64_t at)
{
	uint32_t remembered_s = day_steps[ro->from->id.step].remembered_s;

	recurring_period(&ro->known->nodes, at / day_steps[ro->to->id.step].recurs_s,
			 remembers_stacks(ro->from, ro->to) ? at / remembered_s : 0);
	recent_period(&ro->known->notes, at / NOTES_S);
	day_period(ro->to, at);
}

static uint32_t translate(struct rolling *ro, enum dictionary_table t, uint32_t id)
{
	return dictionary_translate(ro->from->dict, t, id, ro->to->dict, ro->known->numbers.ids);
}

/* --- nodes --- */

/* The number in `to` of a node of `nodes`, which has the frames of `from`. */
static uint32_t add_node(struct rolling *ro, const struct dictionary *nodes, uint32_t node)
{
	size_t at = DICT_DEPTH_MAX;

	while (node && at) {
		const uint32_t *row = dictionary_row(nodes, DICT_NODES, node);
		uint32_t frame = translate(ro, DICT_FRAMES, row[1]);

		if (frame == UINT32_MAX)
			return UINT32_MAX;
		ro->path[--at] = (struct dictionary_frame){frame, row[2]};
		node = row[0];
	}
	return dictionary_stack(ro->to->dict, ro->path + at, DICT_DEPTH_MAX - at);
}

static uint32_t add_reread(struct rolling *ro, uint32_t node)
{
	uint32_t id = renumber_id(&ro->reread.renumber, node);

	return id ? add_node(ro, ro->reread.nodes, id) : UINT32_MAX;
}

/* Of the node for all targets; or of what it is for one, where names had to be left out that others may have room for. */
static uint64_t node_key(const struct rolling *ro, uint32_t node, bool of_target)
{
	return of_target ? (uint64_t)ro->target << 32 | node : node;
}

/* UINT32_MAX: out of memory. -ESTALE: it has to be read from the file first. */
static int translate_node(struct rolling *ro, uint32_t node, uint32_t *ret)
{
	struct recurring *known = &ro->known->nodes;
	uint64_t refused = ro->to->dict->refused;

	*ret = node ? recurring_use(known, node_key(ro, node, false)) : 0;
	if (!*ret && node)
		*ret = recurring_use(known, node_key(ro, node, true));
	if (*ret || !node)
		return 0;
	if (dictionary_has_node(ro->from->dict, node))
		*ret = add_node(ro, ro->from->dict, node);
	else if (ro->reread.nodes)
		*ret = add_reread(ro, node);
	else
		return -ESTALE;
	if (*ret && *ret != UINT32_MAX)
		recurring_put(known, node_key(ro, node, ro->to->dict->refused != refused), *ret);
	return 0;
}

/* --- what belongs to a target --- */

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

/* Not 0. What is noted changes rarely, and is of the whole day so far. */
static uint64_t note_hash(int64_t target, sqlite3_stmt *s)
{
	uint64_t h = hash_mix(hash_secret(), (uint64_t)target);

	for (int i = 0; i < sqlite3_column_count(s); i++)
		h = hash_mix(h, (uint64_t)sqlite3_column_int64(s, i));
	return h | 1;
}

static int copy_note(struct rolling *ro, int64_t target, sqlite3_stmt *s, struct err *err)
{
	int64_t function = sqlite3_column_int64(s, 0), why = sqlite3_column_int64(s, 1);
	const struct dictionary *dict = ro->from->dict;
	uint64_t hash = note_hash(target, s);
	uint32_t to, reason;

	if (function <= 0 || function >= dictionary_count(dict, DICT_FUNCTIONS) || why < 0 ||
	    why >= dictionary_count(dict, DICT_STRINGS))
		return 0;
	if (recent_use(&ro->known->notes, hash))
		return 0;
	to = translate(ro, DICT_FUNCTIONS, (uint32_t)function);
	reason = translate(ro, DICT_STRINGS, (uint32_t)why);
	if (to == UINT32_MAX || reason == UINT32_MAX)
		return err_set(err, -ENOMEM, "out of memory");
	recent_put(&ro->known->notes, hash, 1);
	if (dictionary_is_left_out(ro->to->dict, to))
		return 0;
	return day_step(ro->to,
			day_statement(ro->to, DAY_NOTE,
				      (int64_t[]){target, to, reason, sqlite3_column_int64(s, 2),
						  sqlite3_column_int64(s, 3), sqlite3_column_int64(s, 4)},
				      6),
			err);
}

/* Each function has samples, or had some earlier. */
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

		r = translate_node(ro, c->node, &node);
		if (r < 0)
			break;
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

static sqlite3_stmt *buckets(struct rolling *ro)
{
	return day_statement(ro->from, DAY_BUCKETS, (int64_t[]){ro->at, ro->at + day_steps[ro->to->id.step].seconds},
			     2);
}

/* All targets and events. */
static int add_rows(struct rolling *ro, struct err *err)
{
	sqlite3_stmt *s = buckets(ro);
	bool first = true;
	int r;

	bucket_done(&ro->sum);
	while ((r = day_step(ro->from, s, err)) > 0) {
		if ((r = add_row(ro, s, first, err)) < 0)
			break;
		first = false;
	}
	sqlite3_reset(s);
	return r < 0 || first ? r : put_sum(ro, err);
}

/* --- what was forgotten --- */

static int want_row(struct rolling *ro, sqlite3_stmt *s, struct err *err)
{
	CLEANUP(buf_done) struct buf plain = {0};
	uint64_t sums[BUCKET_SUMS] = {0};
	struct bucket_reader reader;
	struct bucket_count c;
	bool new;
	int r = day_unpack(ro->from, s, 3, DAY_BUCKET_MAX, &plain);

	if (r == 0)
		bucket_begin(&reader, plain.data, plain.len, sums);
	while (r == 0 && (r = bucket_next(&reader, &c)) > 0)
		r = dictionary_has_node(ro->from->dict, c.node) ? 0 : renumber_want(&ro->reread.renumber, c.node, &new);
	return day_dictionary_failed(ro->from, r, err);
}

static int want_rows(struct rolling *ro, struct err *err)
{
	sqlite3_stmt *s = buckets(ro);
	int r;

	while ((r = day_step(ro->from, s, err)) > 0)
		if ((r = want_row(ro, s, err)) < 0)
			break;
	sqlite3_reset(s);
	return r;
}

static int announce_segments(struct rolling *ro, struct err *err)
{
	day_segments segments = {0};
	uint32_t count;
	int r = day_list_nodes(ro->from, DAY_NODE_SEGMENT_MAX, &segments, &count, err);

	if (r == 0)
		r = renumber_segments(&ro->reread.renumber, segments.v, segments.n, count);
	vec_done(&segments);
	return day_dictionary_failed(ro->from, r, err);
}

/* The writer has all names of its file, unless that is damaged. */
static int check_frames(struct rolling *ro, struct err *err)
{
	const struct dictionary *nodes = ro->reread.nodes;
	uint32_t frames = dictionary_count(ro->from->dict, DICT_FRAMES), n = dictionary_count(nodes, DICT_NODES);

	for (uint32_t i = 0; i < n; i++)
		if (dictionary_row(nodes, DICT_NODES, i)[1] >= frames)
			return day_damaged(ro->from, "names", err);
	return 0;
}

/* After a start, of what was sampled just before it; and of what was forgotten on a busy host. */
static int reread(struct rolling *ro, struct err *err)
{
	struct reread *re = &ro->reread;
	int r;

	re->nodes = dictionary_new();
	if (!re->nodes)
		return err_set(err, -ENOMEM, "out of memory");
	re->renumber = (struct renumber){.to = re->nodes, .fetch = day_fetch_nodes, .ctx = ro->from, .max = SIZE_MAX};
	r = announce_segments(ro, err);
	if (r == 0)
		r = want_rows(ro, err);
	while (r == 0 && (r = renumber_some(&re->renumber, err)) > 0)
		r = 0;
	r = day_dictionary_failed(ro->from, r, err);
	return r < 0 ? r : check_frames(ro, err);
}

int store_roll(struct day *from, struct day *to, int64_t at, struct err *err)
{
	CLEANUP(rolling_done) struct rolling ro = {.from = from, .to = to, .at = at};
	int r;

	ro.known = known_of(from, to);
	ro.path = malloc(DICT_DEPTH_MAX * sizeof(*ro.path));
	if (!ro.known || !ro.path)
		return err_set(err, -ENOMEM, "out of memory");
	forget_old(&ro, at);
	r = add_rows(&ro, err);
	if (r == -ESTALE && (r = reread(&ro, err)) == 0)
		r = add_rows(&ro, err);
	if (r == 0)
		forget_old(&ro, at + day_steps[to->id.step].seconds);
	return r;
}
