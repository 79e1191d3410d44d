#include "sampler/store/stacks/excerpt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/store/stacks/varint.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/cursor.h"

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
	}
	free(e->rows);
}

int excerpt_segment(struct excerpt *e, enum dictionary_table t, int64_t first)
{
	struct excerpt_table *tab = &e->tables[t];
	const struct excerpt_segment *before = tab->segments.n ? &tab->segments.v[tab->segments.n - 1] : NULL;
	struct excerpt_segment s = {.first = (uint32_t)first};

	if (first < 1 || first > UINT32_MAX || (before ? s.first <= before->first : s.first != 1))
		return -EBADMSG;
	return vec_push(&tab->segments, s) ? 0 : -ENOMEM;
}

/* --- reading segments --- */

/* A number ends with the first byte below 0x80. A row has at least one byte, so the memory for marks follows what the file really has. */
static int count_rows(struct excerpt_segment *s, enum dictionary_table t)
{
	struct cursor c = cursor_make(s->plain.data, s->plain.len);
	size_t n = 0, width = dictionary_width(t);

	if (t == DICT_STRINGS)
		for (; cursor_left(&c); n++)
			cursor_take(&c, varint_take(&c));
	else
		for (size_t i = 0; i < s->plain.len; i++)
			n += (uint8_t)s->plain.data[i] < 0x80;
	if (c.bad || !n || n % width || n / width >= UINT32_MAX - s->first)
		return -EBADMSG;
	s->n = (uint32_t)(n / width);
	return 0;
}

static int read_segment(struct excerpt *e, enum dictionary_table t, size_t i, struct err *err)
{
	struct excerpt_table *tab = &e->tables[t];
	struct excerpt_segment *s = &tab->segments.v[i];
	int r;

	buf_reset(&s->plain);
	r = e->fetch(e->ctx, t, s->first, &s->plain, err);
	if (r == 0)
		r = count_rows(s, t);
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

/* The segment that has the row, if any has. `id` is not 0, and the first segment begins with 1. */
static size_t find_segment(struct excerpt_table *tab, uint32_t id)
{
	size_t from = 0, to = tab->segments.n;

	if (is_in(tab, tab->found, id))
		return tab->found;
	if (is_in(tab, tab->found + 1, id))
		return ++tab->found;
	while (to - from > 1) {
		size_t middle = from + (to - from) / 2;

		if (tab->segments.v[middle].first <= id)
			from = middle;
		else
			to = middle;
	}
	return tab->found = from;
}

/* -EBADMSG: there is none. */
static int segment_of(struct excerpt *e, enum dictionary_table t, uint32_t id, struct excerpt_segment **ret,
		      struct err *err)
{
	struct excerpt_table *tab = &e->tables[t];
	size_t i = find_segment(tab, id);
	int r = tab->segments.n ? 0 : -EBADMSG;

	if (r == 0 && !tab->segments.v[i].marks)
		r = read_segment(e, t, i, err);
	if (r < 0)
		return r;
	*ret = &tab->segments.v[i];
	return id - (*ret)->first < (*ret)->n ? 0 : -EBADMSG;
}

int excerpt_count(struct excerpt *e, enum dictionary_table t, uint32_t *ret, struct err *err)
{
	const struct excerpt_table *tab = &e->tables[t];
	struct excerpt_segment *last;
	int r;

	*ret = 1;
	if (!tab->segments.n)
		return 0;
	r = segment_of(e, t, tab->segments.v[tab->segments.n - 1].first, &last, err);
	if (r == 0)
		*ret = last->first + last->n;
	return r;
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

static int want_references(struct excerpt *e, enum dictionary_table t, uint32_t *row, struct err *err)
{
	int r = 0;

	if (e->leaves && t == DICT_NODES)
		row[0] = 0;
	if (e->leaves && t == DICT_FRAMES)
		row[0] = row[1] = 0;
	for (uint32_t i = 0; r == 0 && i < DICT_COLUMNS; i++)
		if (dictionary_refers(t, i) != DICT_TABLES)
			r = excerpt_want(e, (enum dictionary_table)dictionary_refers(t, i), row[i], err);
	return r;
}

/* A node's number is relative to its parent's, which is always the smaller one. */
static bool take_row(struct cursor *c, enum dictionary_table t, uint32_t id, uint32_t *row)
{
	row[DICT_COLUMNS - 1] = 0;
	dictionary_take_row(c, t, row);
	if (c->bad || (t == DICT_NODES && (!row[0] || row[0] > id)))
		return false;
	if (t == DICT_NODES)
		row[0] = id - row[0];
	return true;
}

static bool make_rows(struct excerpt *e, uint32_t n)
{
	uint32_t *rows;

	if (n <= e->rows_cap)
		return true;
	rows = realloc(e->rows, (size_t)n * DICT_COLUMNS * sizeof(*rows));
	if (!rows)
		return false;
	e->rows = rows;
	e->rows_cap = n;
	return true;
}

/* Where the row begins that ends before `end`: behind the last byte of the one before, or at the beginning. */
static const uint8_t *row_begin(const uint8_t *begin, const uint8_t *end, uint32_t width)
{
	const uint8_t *p = end - 1;

	for (; p > begin; p--)
		if (p[-1] < 0x80 && !--width)
			break;
	return p;
}

/* Keeps the wanted ones of e->rows, moved to their end. */
static int keep_rows(struct excerpt *e, struct excerpt_segment *s, uint32_t from)
{
	size_t size = (size_t)(s->n - from) * DICT_COLUMNS * sizeof(*s->wanted);

	buf_done(&s->plain);
	s->wanted = malloc(size + 1);
	if (!s->wanted)
		return -ENOMEM;
	memcpy(s->wanted, e->rows + (size_t)from * DICT_COLUMNS, size);
	return 0;
}

/*
 * From the last row to the first, since a node's parent comes before it. Most rows are of other stacks, and are not
 * decoded. What follows the last number that ends belongs to none.
 */
static int close_segment(struct excerpt *e, enum dictionary_table t, size_t at, struct err *err)
{
	struct excerpt_segment *s = &e->tables[t].segments.v[at];
	const uint8_t *begin, *end;
	uint32_t to = s->n, width = dictionary_width(t);
	int r = 0;

	if (!s->marks)
		return 0;
	if (!make_rows(e, s->n))
		return -ENOMEM;
	begin = (const uint8_t *)s->plain.data; /* it has a row */
	end = begin + s->plain.len;
	while (end > begin && end[-1] >= 0x80)
		end--;
	for (uint32_t i = s->n; r == 0 && i-- > 0;) {
		const uint8_t *row_at = row_begin(begin, end, width);
		struct cursor c = cursor_make(row_at, (size_t)(end - row_at));

		end = row_at;
		if (!s->marks[i])
			continue;
		if (!take_row(&c, t, s->first + i, e->rows + (size_t)--to * DICT_COLUMNS))
			return -EBADMSG;
		r = want_references(e, t, e->rows + (size_t)to * DICT_COLUMNS, err);
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

static int number_row(struct excerpt *e, enum dictionary_table t, uint32_t *row, uint32_t *ret)
{
	for (uint32_t i = 0; i < DICT_COLUMNS; i++)
		if (dictionary_refers(t, i) != DICT_TABLES)
			row[i] = excerpt_id(e, (enum dictionary_table)dictionary_refers(t, i), row[i]);
	if (t == DICT_NODES && dictionary_depth(e->to, row[0]) >= DICT_DEPTH_MAX)
		return -EBADMSG;
	*ret = dictionary_id(e->to, t, row);
	return *ret == UINT32_MAX ? -ENOMEM : 0;
}

static int number_rows(struct excerpt *e, enum dictionary_table t, struct excerpt_segment *s)
{
	uint32_t *row = s->wanted;
	int r = 0;

	for (uint32_t i = 0; r == 0 && s->marks && i < s->n; i++)
		if (s->marks[i]) {
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
