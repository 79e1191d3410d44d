#include "sampler/store/stacks/excerpt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/store/stacks/varint.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/cursor.h"
#include "symbolizer/base/sorted.h"

void excerpt_done(struct excerpt *e)
{
	for (int t = 0; t < DICT_TABLES; t++) {
		for (size_t i = 0; i < e->tables[t].segments.n; i++) {
			struct excerpt_segment *s = &e->tables[t].segments.v[i];

			buf_done(&s->plain);
			free(s->marks);
			free(s->wanted);
		}
		vec_done(&e->tables[t].segments);
		free(e->tables[t].blocks);
	}
	segment_taken_done(&e->rows);
}

int excerpt_segment(struct excerpt *e, enum dictionary_table t, int64_t first)
{
	struct excerpt_table *tab = &e->tables[t];
	const struct excerpt_segment *before = tab->segments.n ? &tab->segments.v[tab->segments.n - 1] : NULL;
	struct excerpt_segment s = {.first = (uint32_t)first};

	if (first < 1 || first > UINT32_MAX || (before ? s.first <= before->first : t != DICT_NODES && s.first != 1))
		return -EBADMSG;
	return vec_push(&tab->segments, s) ? 0 : -ENOMEM;
}

/* --- reading segments --- */

static int read_segment(struct excerpt *e, enum dictionary_table t, size_t i, struct err *err)
{
	struct excerpt_table *tab = &e->tables[t];
	struct excerpt_segment *s = &tab->segments.v[i];
	int r;

	buf_reset(&s->plain);
	r = e->fetch(e->ctx, t, s->first, &s->plain, err);
	if (r == 0)
		r = segment_count_rows(&s->plain, t, s->first, &s->n);
	if (r == 0 && i + 1 < tab->segments.n && s->first + s->n != tab->segments.v[i + 1].first)
		r = -EBADMSG;
	if (r == 0 && !(s->marks = calloc(s->n, sizeof(*s->marks))))
		r = -ENOMEM;
	return r;
}

static bool is_in(const struct excerpt_table *tab, size_t i, uint32_t id)
{
	return i < tab->segments.n && id >= tab->segments.v[i].first &&
	       (i + 1 == tab->segments.n || id < tab->segments.v[i + 1].first);
}

/* Makes blocks, all numbers of which are found between two segments. There is a segment. */
static void make_blocks(struct excerpt_table *tab)
{
	uint32_t first = tab->segments.v[0].first, span = tab->segments.v[tab->segments.n - 1].first - first;
	size_t i = 0;

	for (tab->shift = 0; span >> tab->shift > tab->segments.n; tab->shift++)
		;
	tab->n_blocks = (size_t)(span >> tab->shift) + 1;
	tab->blocks = malloc(tab->n_blocks * sizeof(*tab->blocks));
	for (size_t b = 0; tab->blocks && b < tab->n_blocks; b++) {
		while (i + 1 < tab->segments.n && tab->segments.v[i + 1].first - first <= b << tab->shift)
			i++;
		tab->blocks[b] = (uint32_t)i;
	}
}

/* Narrows [*from, *to), which has the segment with the row. */
static void use_blocks(struct excerpt_table *tab, uint32_t id, size_t *from, size_t *to)
{
	size_t b = (id - tab->segments.v[0].first) >> tab->shift;

	if (b >= tab->n_blocks)
		b = tab->n_blocks - 1;
	*from = tab->blocks[b];
	if (b + 1 < tab->n_blocks)
		*to = (size_t)tab->blocks[b + 1] + 1;
}

/* The segment that has the row, if any has. `id` is not 0, and there is a segment. */
static size_t find_segment(struct excerpt_table *tab, uint32_t id)
{
	size_t from = 0, to = tab->segments.n, above;

	if (is_in(tab, tab->found, id))
		return tab->found;
	if (is_in(tab, tab->found + 1, id))
		return ++tab->found;
	if (!tab->blocks)
		make_blocks(tab);
	if (tab->blocks && id >= tab->segments.v[0].first)
		use_blocks(tab, id, &from, &to);
	above = first_above(tab->segments.v + from, to - from, first, id);
	return tab->found = from + (above ? above - 1 : 0);
}

/* -EBADMSG: there is none. */
static int segment_of(struct excerpt *e, enum dictionary_table t, uint32_t id, struct excerpt_segment **ret,
		      struct err *err)
{
	struct excerpt_table *tab = &e->tables[t];
	size_t i = tab->segments.n ? find_segment(tab, id) : 0;
	int r = tab->segments.n ? 0 : -EBADMSG;

	if (r == 0 && !tab->segments.v[i].marks)
		r = read_segment(e, t, i, err);
	if (r < 0)
		return r;
	*ret = &tab->segments.v[i];
	return id - (*ret)->first < (*ret)->n ? 0 : -EBADMSG;
}

int excerpt_mark(struct excerpt *e, enum dictionary_table t, uint32_t id, uint32_t **ret, struct err *err)
{
	struct excerpt_segment *s;
	int r = id ? segment_of(e, t, id, &s, err) : 0;

	if (r == 0)
		*ret = id ? &s->marks[id - s->first] : &e->tables[t].none;
	return r;
}

int excerpt_want(struct excerpt *e, enum dictionary_table t, uint32_t id, struct err *err)
{
	uint32_t *mark;
	int r = id ? excerpt_mark(e, t, id, &mark, err) : 0;

	if (r == 0 && id && !*mark)
		*mark = EXCERPT_WANTED;
	return r;
}

uint32_t excerpt_id(struct excerpt *e, enum dictionary_table t, uint32_t id)
{
	struct excerpt_table *tab = &e->tables[t];
	const struct excerpt_segment *s;

	if (!id || !tab->segments.n)
		return 0;
	s = &tab->segments.v[find_segment(tab, id)];
	return s->marks && id - s->first < s->n ? s->marks[id - s->first] : 0;
}

/* --- what the wanted rows refer to --- */

/* The tables that the columns of a segment's rows refer to; DICT_TABLES: none. */
struct references {
	enum dictionary_table to[DICT_COLUMNS];
	bool none[DICT_COLUMNS]; /* what they refer to is not wanted */
};

static struct references references_of(const struct excerpt *e, enum dictionary_table t)
{
	struct references r;

	for (uint32_t i = 0; i < DICT_COLUMNS; i++) {
		enum dictionary_table to = (enum dictionary_table)dictionary_refers(t, i);

		r.to[i] = to;
		r.none[i] = e->leaves && (to == DICT_NODES || t == DICT_FRAMES) && to != DICT_TABLES;
	}
	return r;
}

static int want_references(struct excerpt *e, const struct references *refs, struct excerpt_segment *s, uint32_t *row,
			   struct err *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < DICT_COLUMNS; i++) {
		if (refs->none[i])
			row[i] = 0;
		if (refs->to[i] == DICT_NODES && row[i] >= s->first) /* most callers are in the same segment */
			s->marks[row[i] - s->first] = s->marks[row[i] - s->first] ?: EXCERPT_WANTED;
		else if (refs->to[i] != DICT_TABLES)
			r = excerpt_want(e, refs->to[i], row[i], err);
	}
	return r;
}

/* Keeps the wanted ones of e->rows, which are at their end. */
static int keep_rows(struct excerpt *e, struct excerpt_segment *s, uint32_t from)
{
	buf_done(&s->plain);
	s->wanted = segment_taken_copy(&e->rows, from, s->n);
	return s->wanted ? 0 : -ENOMEM;
}

/* From the last row to the first, since a node's parent comes before it. Most rows are of other stacks. */
static int close_segment(struct excerpt *e, enum dictionary_table t, size_t at, struct err *err)
{
	struct excerpt_segment *s = &e->tables[t].segments.v[at];
	struct references refs = references_of(e, t);
	struct segment_rows rows;
	uint32_t to = s->n;
	int r = 0;

	if (!s->marks)
		return 0;
	if (!segment_taken_room(&e->rows, s->n))
		return -ENOMEM;
	segment_rows_begin(&rows, &s->plain, t);
	for (uint32_t i = s->n; r == 0 && i-- > 0;) {
		uint32_t *row = e->rows.v + (size_t)(to - 1) * DICT_COLUMNS;

		if (!s->marks[i]) {
			segment_rows_skip(&rows);
			continue;
		}
		to--;
		r = segment_rows_take(&rows, s->first + i, row);
		if (r == 0)
			r = want_references(e, &refs, s, row, err);
	}
	return r < 0 ? r : keep_rows(e, s, to);
}

/* --- adding them --- */

static int number_strings(struct excerpt *e, struct excerpt_segment *s)
{
	struct cursor c = cursor_make(s->plain.data, s->plain.len);

	for (uint32_t i = 0; i < s->n; i++) {
		size_t len = varint_take(&c);
		const char *text = cursor_take(&c, len);

		if (c.bad)
			return -EBADMSG;
		if (s->marks[i] && (s->marks[i] = strtab_add(e->to->strings, text, len)) == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

static void number_references(struct excerpt *e, const struct references *refs, const struct excerpt_segment *s,
			      uint32_t *row)
{
	for (uint32_t i = 0; i < DICT_COLUMNS; i++)
		if (refs->to[i] == DICT_NODES && row[i] >= s->first)
			row[i] = s->marks[row[i] - s->first];
		else if (refs->to[i] != DICT_TABLES)
			row[i] = excerpt_id(e, refs->to[i], row[i]);
}

static int number_row(struct excerpt *e, enum dictionary_table t, uint32_t *row, uint32_t *ret)
{
	if (t == DICT_NODES && dictionary_follows(e->to, row)) {
		*ret = row[0] + 1;
		return 0;
	}
	if (t == DICT_NODES && dictionary_depth(e->to, row[0]) >= DICT_DEPTH_MAX)
		return -EBADMSG;
	*ret = dictionary_id(e->to, t, row);
	return *ret == UINT32_MAX ? -ENOMEM : 0;
}

static int number_rows(struct excerpt *e, enum dictionary_table t, struct excerpt_segment *s)
{
	struct references refs = references_of(e, t);
	uint32_t *row = s->wanted;
	int r = 0;

	for (uint32_t i = 0; r == 0 && s->marks && i < s->n; i++)
		if (s->marks[i]) {
			number_references(e, &refs, s, row);
			r = number_row(e, t, row, &s->marks[i]);
			row += DICT_COLUMNS;
		}
	free(take_ptr(s->wanted));
	return r;
}

/* A row refers to tables before its own (enum dictionary_table), and a node to nodes before it. */
int excerpt_make(struct excerpt *e, struct err *err)
{
	int r = 0;

	for (int t = DICT_TABLES - 1; t > DICT_STRINGS; t--)
		for (size_t i = e->tables[t].segments.n; r == 0 && i-- > 0;)
			r = close_segment(e, (enum dictionary_table)t, i, err);
	for (int t = 0; t < DICT_TABLES; t++)
		for (size_t i = 0; r == 0 && i < e->tables[t].segments.n; i++) {
			struct excerpt_segment *s = &e->tables[t].segments.v[i];

			r = t == DICT_STRINGS ? (s->marks ? number_strings(e, s) : 0) :
						number_rows(e, (enum dictionary_table)t, s);
		}
	return r;
}

/* --- single rows --- */

static int add_string(struct excerpt *e, const struct excerpt_segment *s, uint32_t i, uint32_t *ret)
{
	struct cursor c = cursor_make(s->plain.data, s->plain.len);
	const char *text;
	size_t len;

	while (i-- > 0)
		cursor_take(&c, varint_take(&c));
	len = varint_take(&c);
	text = cursor_take(&c, len);
	if (!text)
		return -EBADMSG;
	*ret = strtab_add(e->to->strings, text, len);
	return *ret == UINT32_MAX ? -ENOMEM : 0;
}

static int add_texts(struct excerpt *e, enum dictionary_table t, const struct excerpt_segment *s, uint32_t i,
		     uint32_t *ret, struct err *err)
{
	struct cursor c = cursor_make(s->plain.data, s->plain.len);
	uint32_t row[DICT_COLUMNS] = {0};
	int r = 0;

	for (uint32_t k = 0; k <= i; k++)
		dictionary_take_row(&c, t, row);
	for (uint32_t k = 0; r == 0 && k < dictionary_width(t); k++)
		r = c.bad ? -EBADMSG : excerpt_add(e, DICT_STRINGS, row[k], &row[k], err);
	if (r < 0)
		return r;
	*ret = dictionary_id(e->to, t, row);
	return *ret == UINT32_MAX ? -ENOMEM : 0;
}

int excerpt_add(struct excerpt *e, enum dictionary_table t, uint32_t id, uint32_t *ret, struct err *err)
{
	struct excerpt_segment *s = NULL;
	uint32_t *mark;
	int r = id ? segment_of(e, t, id, &s, err) : 0;

	*ret = 0;
	if (r < 0 || !id)
		return r;
	mark = &s->marks[id - s->first];
	if (!*mark || *mark == EXCERPT_WANTED)
		r = t == DICT_STRINGS ? add_string(e, s, id - s->first, mark) :
					add_texts(e, t, s, id - s->first, mark, err);
	if (r == 0)
		*ret = *mark;
	return r;
}
