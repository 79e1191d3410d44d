/* Samples over time: what one file of the store adds to the rows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/store/day/day.h"
#include "sampler/store/day/day_buckets.h"
#include "sampler/store/day/day_dictionary.h"
#include "sampler/store/day/day_targets.h"
#include "sampler/store/day/series.h"
#include "sampler/store/day/target_id.h"
#include "sampler/store/stacks/bucket.h"
#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/excerpt.h"
#include "sampler/store/stacks/samples.h"
#include "sampler/store/stacks/stacks_wanted.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"

struct reading {
	struct series *s;
	struct day *day;
	struct dictionary *dict; /* of the names that are needed */
	struct excerpt names;
	struct stacks_wanted wanted;
	day_numbers targets;
	struct store_cell **rows; /* by target; NULL: not yet known, or rows are of kinds */
};

static void reading_done(struct reading *rd)
{
	stacks_wanted_done(&rd->wanted);
	excerpt_done(&rd->names);
	dictionary_free(rd->dict);
	vec_done(&rd->targets);
	free(rd->rows);
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

static int row_of_target(struct reading *rd, int64_t target, struct store_cell **ret, struct err *err)
{
	struct series *s = rd->s;
	struct store_target t = {0};
	int r = day_read_process(rd->day, target, &t, err);

	if (r < 0)
		return r;
	*ret = find_target(s, &t);
	sqlite3_reset(rd->day->statements[DAY_TARGET]);
	if (*ret)
		return 0;
	t = (struct store_target){0};
	if (s->pub.n_rows < s->q->max && (r = day_read_target(rd->day, target, &s->memory, &t, err)) < 0)
		return r;
	*ret = add_row(s, (struct store_series_row){.target = t});
	return *ret ? 0 : no_memory(err);
}

static const char *label_of(const struct store_target *t, const char *key)
{
	for (size_t i = 0; i < t->n_labels; i++)
		if (strcmp(t->labels[i].key, key) == 0)
			return t->labels[i].value;
	return "";
}

static int row_of_label(struct reading *rd, int64_t target, struct store_cell **ret, struct err *err)
{
	struct store_target t = {0};
	struct arena texts = {0};
	int r = day_read_target(rd->day, target, &texts, &t, err);

	if (r == 0) {
		*ret = row_of_name(rd->s, label_of(&t, rd->s->q->key));
		r = *ret ? 0 : no_memory(err);
	}
	arena_done(&texts);
	return r;
}

static int find_row(struct reading *rd, size_t target, struct err *err)
{
	struct store_cell **row = &rd->rows[target];

	if (*row)
		return 0;
	switch (rd->s->q->split) {
	case STORE_BY_KIND: break;
	case STORE_BY_TARGET: return row_of_target(rd, rd->targets.v[target], row, err);
	case STORE_BY_LABEL: return row_of_label(rd, rd->targets.v[target], row, err);
	case STORE_WHOLE: *row = row_of_name(rd->s, ""); return *row ? 0 : no_memory(err);
	}
	return 0;
}

/* --- buckets --- */

static uint64_t cell_of(const struct series *s, const struct day_bucket *b)
{
	int64_t since = b->at - (int64_t)s->pub.from_s;

	return since > 0 ? (uint64_t)since / s->pub.step_s : 0;
}

static int want_bucket(void *ctx, const struct day_bucket *b, struct err *err)
{
	struct reading *rd = ctx;

	return cell_of(rd->s, b) < rd->s->pub.n_cells ? day_want_nodes(rd->day, b, &rd->names, err) : 0;
}

static void add_cell(struct store_cell *cell, const struct bucket_count *c)
{
	cell->samples += c->count;
	cell->weight += c->weight;
}

static int add_count(struct reading *rd, struct store_cell *row, const struct bucket_count *c, uint64_t cell,
		     struct err *err)
{
	struct series *s = rd->s;
	uint32_t node = excerpt_id(&rd->names, DICT_NODES, c->node);
	int wanted = s->q->wants ? stacks_wanted_node(&rd->wanted, node, err) : 1;

	add_cell(&s->pub.all[cell], c);
	if (wanted <= 0)
		return wanted;
	if (s->q->split == STORE_BY_KIND)
		row = row_of_kind(s, dictionary_kind(rd->dict, node));
	if (!row)
		return no_memory(err);
	add_cell(&row[cell], c);
	return 0;
}

static int add_bucket(void *ctx, const struct day_bucket *b, struct err *err)
{
	struct reading *rd = ctx;
	struct series *s = rd->s;
	uint32_t width = day_steps[rd->day->id.step].seconds;
	uint64_t cell = cell_of(s, b), ignored[BUCKET_SUMS] = {0};
	struct bucket_reader reader;
	struct bucket_count c;
	int r = find_row(rd, b->target, err), more = 0;

	if (r < 0 || cell >= s->pub.n_cells)
		return r;
	if (width > s->widest_s)
		s->widest_s = width;
	bucket_begin(&reader, b->bytes, b->len, ignored);
	while (r == 0 && (more = bucket_next(&reader, &c)) > 0)
		r = add_count(rd, rd->rows[b->target], &c, cell, err);
	return more < 0 ? day_damaged(rd->day, "samples", err) : r;
}

/* Names are only needed to choose stacks, or to tell the kind of their leaves. */
static int take_names(struct reading *rd, const struct day_range *range, struct err *err)
{
	const struct store_series_query *q = rd->s->q;
	int r;

	if (!q->wants && q->split != STORE_BY_KIND)
		return 0;
	r = day_each_bucket(rd->day, range, &rd->names, want_bucket, rd, err);
	if (r < 0)
		return r;
	r = excerpt_make(&rd->names, err);
	if (r == 0 && q->wants)
		r = stacks_wanted_begin(&rd->wanted);
	return day_dictionary_failed(rd->day, r, err);
}

int series_add_day(struct series *s, struct day *d, int64_t from_s, int64_t to_s, struct err *err)
{
	CLEANUP(reading_done)
	struct reading rd = {.s = s, .day = d, .dict = dictionary_new(), .names = {.leaves = !s->q->wants}};
	struct day_range range = {.targets = &rd.targets, .event = s->chosen->event, .from_s = from_s, .to_s = to_s};
	struct target_texts ignored = {0};
	int r = rd.dict ? day_choose_targets(d, s->chosen, &rd.targets, &ignored, err) : no_memory(err);

	if (r < 0)
		return r;
	rd.wanted = (struct stacks_wanted){.dict = rd.dict, .wants = s->q->wants, .ctx = s->q->ctx, .self = s->q->self};
	rd.rows = calloc(rd.targets.n + 1, sizeof(struct store_cell *));
	if (!rd.rows)
		return no_memory(err);
	r = day_excerpt_begin(d, rd.dict, &rd.names, err);
	if (r == 0)
		r = take_names(&rd, &range, err);
	return r < 0 ? r : day_each_bucket(d, &range, &rd.names, add_bucket, &rd, err);
}
