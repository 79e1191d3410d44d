/* Samples over time: what one file of the store adds to the rows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/store/bucket.h"
#include "sampler/store/day.h"
#include "sampler/store/day_read.h"
#include "sampler/store/day_targets.h"
#include "sampler/store/series.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/frame_bits.h"
#include "sampler/store/stacks/stacks_wanted.h"
#include "sampler/store/target_id.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"

struct reading {
	struct series *s;
	struct day *day;
	struct stacks_wanted wanted;
	day_numbers targets;
	int64_t target; /* of the last bucket; its row: NULL if there is no room, or rows are of kinds */
	struct store_cell *row;
	struct bucket bucket;
};

static void reading_done(struct reading *rd)
{
	stacks_wanted_done(&rd->wanted);
	vec_done(&rd->targets);
	bucket_done(&rd->bucket);
}

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

/* --- rows --- */

static struct store_cell *new_cells(struct series *s)
{
	return arena_alloc(&s->memory, (s->pub.n_cells + 1) * sizeof(struct store_cell));
}

/* A row like `row`, whose texts are copied already; the one for the rest if there are enough. NULL: out of memory. */
static struct store_cell *add_row(struct series *s, struct store_series_row row)
{
	struct store_series *p = &s->pub;

	if (p->n_rows == s->q->max)
		return p->rest ? p->rest : (p->rest = new_cells(s));
	if (p->n_rows == s->rows_cap) {
		size_t cap = s->rows_cap ? s->rows_cap * 2 : 16;
		struct store_series_row *v = realloc(p->rows, cap * sizeof(*v));

		if (!v)
			return NULL;
		p->rows = v;
		s->rows_cap = cap;
	}
	row.cells = new_cells(s);
	if (row.cells)
		p->rows[p->n_rows++] = row;
	return row.cells;
}

static struct store_cell *row_of_kind(struct series *s, enum named_kind kind)
{
	for (size_t i = 0; i < s->pub.n_rows; i++)
		if (s->pub.rows[i].kind == kind)
			return s->pub.rows[i].cells;
	return add_row(s, (struct store_series_row){.kind = kind});
}

static struct store_cell *row_of_name(struct series *s, const char *name)
{
	char *copy;

	for (size_t i = 0; i < s->pub.n_rows; i++)
		if (strcmp(s->pub.rows[i].name, name) == 0)
			return s->pub.rows[i].cells;
	copy = arena_strndup(&s->memory, name, strlen(name));
	return copy ? add_row(s, (struct store_series_row){.name = copy}) : NULL;
}

static struct store_cell *find_target(const struct series *s, const struct store_target *t)
{
	for (size_t i = 0; i < s->pub.n_rows; i++)
		if (target_id_is_same(&s->pub.rows[i].target, t))
			return s->pub.rows[i].cells;
	return NULL;
}

static int row_of_target(struct reading *rd, int64_t target, struct err *err)
{
	struct series *s = rd->s;
	struct store_target t = {0};
	int r = day_read_process(rd->day, target, &t, err);

	if (r < 0)
		return r;
	rd->row = find_target(s, &t);
	sqlite3_reset(rd->day->statements[DAY_TARGET]);
	if (rd->row)
		return 0;
	t = (struct store_target){0};
	if (s->pub.n_rows < s->q->max && (r = day_read_target(rd->day, target, &s->memory, &t, err)) < 0)
		return r;
	rd->row = add_row(s, (struct store_series_row){.target = t});
	return rd->row ? 0 : no_memory(err);
}

static const char *label_of(const struct store_target *t, const char *key)
{
	for (size_t i = 0; i < t->n_labels; i++)
		if (strcmp(t->labels[i].key, key) == 0)
			return t->labels[i].value;
	return "";
}

static int row_of_label(struct reading *rd, int64_t target, struct err *err)
{
	struct store_target t = {0};
	struct arena texts = {0};
	int r = day_read_target(rd->day, target, &texts, &t, err);

	if (r == 0) {
		rd->row = row_of_name(rd->s, label_of(&t, rd->s->q->key));
		r = rd->row ? 0 : no_memory(err);
	}
	arena_done(&texts);
	return r;
}

/* Buckets come by target. */
static int find_row(struct reading *rd, int64_t target, struct err *err)
{
	int r = 0;

	if (target == rd->target)
		return 0;
	switch (rd->s->q->split) {
	case STORE_BY_KIND: break;
	case STORE_BY_TARGET: r = row_of_target(rd, target, err); break;
	case STORE_BY_LABEL: r = row_of_label(rd, target, err); break;
	case STORE_WHOLE:
		rd->row = row_of_name(rd->s, "");
		r = rd->row ? 0 : no_memory(err);
		break;
	}
	rd->target = target;
	return r;
}

/* --- buckets --- */

static void add_cell(struct store_cell *cell, const struct bucket_count *c)
{
	cell->samples += c->count;
	cell->weight += c->weight;
}

static enum named_kind kind_of(const struct dictionary *dict, uint32_t node)
{
	uint32_t frame = dictionary_row(dict, DICT_NODES, node)[1];

	return frame_bits_line(dictionary_row(dict, DICT_FRAMES, frame)[2]).kind;
}

static int add_count(struct reading *rd, const struct bucket_count *c, uint32_t cell, struct err *err)
{
	struct series *s = rd->s;
	struct store_cell *row = rd->row;
	int wanted = s->q->wants ? stacks_wanted_node(&rd->wanted, c->node, err) : 1;

	add_cell(&s->pub.all[cell], c);
	if (wanted <= 0)
		return wanted;
	if (s->q->split == STORE_BY_KIND)
		row = row_of_kind(s, kind_of(rd->day->dict, c->node));
	if (!row)
		return no_memory(err);
	add_cell(&row[cell], c);
	return 0;
}

static int add_bucket(struct reading *rd, sqlite3_stmt *stmt, struct err *err)
{
	struct series *s = rd->s;
	int64_t since = sqlite3_column_int64(stmt, 0) - (int64_t)s->pub.from_s;
	uint32_t cell = since > 0 ? (uint32_t)(since / s->pub.step_s) : 0, width = day_steps[rd->day->id.step].seconds;
	int r = find_row(rd, sqlite3_column_int64(stmt, 1), err);

	if (r < 0 || cell >= s->pub.n_cells)
		return r;
	if (width > s->widest_s)
		s->widest_s = width;
	bucket_done(&rd->bucket);
	r = day_row_bucket(rd->day, stmt, 3, &rd->bucket, err);
	for (uint32_t i = 0; r == 0 && i < rd->bucket.n; i++)
		r = add_count(rd, &rd->bucket.counts[i], cell, err);
	return r;
}

int series_add_day(struct series *s, struct day *d, int64_t from_s, int64_t to_s, struct err *err)
{
	CLEANUP(reading_done)
	struct reading rd = {
		.s = s,
		.day = d,
		.wanted = {.dict = d->dict, .wants = s->q->wants, .ctx = s->q->ctx, .self = s->q->self},
		.target = -1,
	};
	struct day_sums ignored = {0};
	sqlite3_stmt *stmt;
	int r;

	if (s->q->wants && stacks_wanted_begin(&rd.wanted) < 0)
		return no_memory(err);
	r = day_choose_targets(d, s->chosen, &rd.targets, &ignored, err);
	if (r < 0)
		return r;
	stmt = day_statement(d, DAY_BUCKETS, (int64_t[]){from_s, to_s}, 2);
	while ((r = day_step(d, stmt, err)) > 0) {
		if (!day_is_chosen(&rd.targets, sqlite3_column_int64(stmt, 1)) ||
		    !day_event_is(d, sqlite3_column_int64(stmt, 2), s->chosen->event))
			continue;
		r = add_bucket(&rd, stmt, err);
		if (r < 0)
			break;
	}
	sqlite3_reset(stmt);
	return r;
}
