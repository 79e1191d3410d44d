#include "sampler/store/stacks/dictionary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/store/stacks/dictionary_private.h"
#include "sampler/store/stacks/frame_bits.h"
#include "sampler/store/stacks/varint.h"
#include "symbolizer/base/hash.h"

/* What a string takes besides its bytes, and a row besides its numbers: approximately, since tables grow in steps. */
enum { STRING_COST = 24, ROW_COST = 12 };

/* The table that a column refers to; NUMBER: none. */
enum { NUMBER = DICT_TABLES };

static const struct {
	uint32_t width;
	uint8_t refers[DICT_COLUMNS];
} columns[DICT_TABLES] = {
	[DICT_FUNCTIONS] = {3, {DICT_STRINGS, DICT_STRINGS, DICT_STRINGS}},
	[DICT_MAPPINGS] = {2, {DICT_STRINGS, DICT_STRINGS}},
	[DICT_FRAMES] = {3, {DICT_FUNCTIONS, DICT_MAPPINGS, NUMBER}},
	[DICT_NODES] = {3, {DICT_NODES, DICT_FRAMES, NUMBER}},
	[DICT_LABELS] = {2, {DICT_STRINGS, DICT_STRINGS}},
	[DICT_EVENTS] = {2, {DICT_STRINGS, DICT_STRINGS}},
};

uint32_t dictionary_width(enum dictionary_table t)
{
	return t == DICT_STRINGS ? 1 : columns[t].width;
}

uint32_t dictionary_refers(enum dictionary_table t, uint32_t column)
{
	return column < columns[t].width ? columns[t].refers[column] : DICT_TABLES;
}

static bool rows_add(struct dictionary_rows *r, const uint32_t *row, uint64_t hash)
{
	uint32_t cap = r->cap ? r->cap + r->cap / 2 : 256, *v;

	if (r->index.n != r->n) /* find_row() had no memory to make it again, so the row may be there */
		return false;
	if (r->n == r->cap) {
		v = r->n < UINT32_MAX / 4 ? realloc(r->v, (size_t)cap * r->width * sizeof(*v)) : NULL;
		if (!v)
			return false;
		r->v = v;
		r->cap = cap;
	}
	if (!slots_add(&r->index, hash, r->n))
		return false;
	memcpy(r->v + (size_t)r->n * r->width, row, r->width * sizeof(*row));
	r->n++;
	return true;
}

static uint64_t row_hash(const struct dictionary_rows *r, const uint32_t *row)
{
	uint64_t h = hash_u64((uint64_t)row[0] << 32 | row[1]);

	return r->width > 2 ? hash_mix(h, row[2]) : h;
}

bool dictionary_put_row(struct dictionary_rows *r, const uint32_t *row)
{
	return rows_add(r, row, row_hash(r, row));
}

static bool add_node(struct dictionary *d, const uint32_t *row, uint64_t hash)
{
	struct dictionary_rows *r = &d->rows[DICT_NODES];
	uint32_t cap = r->cap;
	uint16_t *v;

	if (dictionary_count(d, DICT_NODES) >= UINT32_MAX - 1 || !rows_add(r, row, hash))
		return false;
	if (r->cap != cap) {
		v = realloc(d->depths, r->cap * sizeof(*v));
		if (!v)
			return false;
		d->depths = v;
	}
	d->depths[r->n - 1] = r->n > 1 ? dictionary_depth(d, row[0]) + 1 : 0;
	return true;
}

static uint64_t row_cost(enum dictionary_table t)
{
	return columns[t].width * sizeof(uint32_t) + ROW_COST;
}

/* UINT32_MAX: out of memory. */
static uint32_t add_row(struct dictionary *d, enum dictionary_table t, const uint32_t *row, uint64_t hash)
{
	if (!(t == DICT_NODES ? add_node(d, row, hash) : rows_add(&d->rows[t], row, hash)))
		return UINT32_MAX;
	d->names += t == DICT_NODES ? 0 : row_cost(t);
	return dictionary_count(d, t) - 1;
}

static bool row_is(const void *ctx, const void *wanted, uint32_t position)
{
	const struct dictionary_rows *r = ctx;

	return !memcmp(r->v + (size_t)position * r->width, wanted, r->width * sizeof(uint32_t));
}

/* Makes the index again, after dictionary_rest(). false: out of memory. */
static bool indexed(struct dictionary_rows *r)
{
	if (r->index.n == r->n)
		return true;
	slots_done(&r->index);
	if (!slots_reserve(&r->index, r->n))
		return false;
	for (uint32_t i = 0; i < r->n; i++)
		slots_add(&r->index, row_hash(r, r->v + (size_t)i * r->width), i);
	return true;
}

/* SLOTS_NONE: it is not there, or there is no memory. */
static uint32_t find_row(struct dictionary *d, enum dictionary_table t, const uint32_t *row, uint64_t hash)
{
	struct dictionary_rows *r = &d->rows[t];
	uint32_t i = indexed(r) ? slots_find(&r->index, hash, row_is, r, row) : SLOTS_NONE;

	return t == DICT_NODES && i != SLOTS_NONE ? dictionary_node_found(d, i) : i;
}

/* Whether there is room or not. */
static uint32_t row_id(struct dictionary *d, enum dictionary_table t, const uint32_t *row)
{
	uint64_t hash = row_hash(&d->rows[t], row);
	uint32_t i = find_row(d, t, row, hash);

	return i != SLOTS_NONE ? i : add_row(d, t, row, hash);
}

struct dictionary *dictionary_new(void)
{
	static const uint32_t none[DICT_COLUMNS] = {0};
	struct dictionary *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->strings = strtab_new();
	d->names_max = UINT64_MAX;
	d->node_segment = DICT_SEGMENT;
	d->n_kept = 1;
	d->settled[DICT_STRINGS] = d->saved[DICT_STRINGS] = 1;
	for (int t = DICT_FUNCTIONS; d->strings && t < DICT_TABLES; t++) {
		d->rows[t].width = columns[t].width;
		d->settled[t] = d->saved[t] = 1;
		if (row_id(d, t, none) == UINT32_MAX)
			break;
	}
	if (d->strings && d->rows[DICT_TABLES - 1].n)
		return d;
	dictionary_free(d);
	return NULL;
}

void dictionary_free(struct dictionary *d)
{
	if (!d)
		return;
	strtab_free(d->strings);
	free(d->depths);
	free(d->kept);
	recurring_done(&d->stacks);
	for (int t = 0; t < DICT_TABLES; t++) {
		free(d->rows[t].v);
		slots_done(&d->rows[t].index);
		buf_done(&d->unsettled[t]);
	}
	free(d);
}

void dictionary_rest(struct dictionary *d)
{
	strtab_rest(d->strings);
	for (int t = 0; t < DICT_TABLES; t++)
		slots_done(&d->rows[t].index);
}

size_t dictionary_bytes(const struct dictionary *d)
{
	size_t n = strtab_bytes(d->strings) + d->rows[DICT_NODES].cap * sizeof(*d->depths);

	n += recurring_bytes(&d->stacks) + (d->kept ? d->n_kept * sizeof(*d->kept) : 0);
	for (int t = 0; t < DICT_TABLES; t++)
		n += (size_t)d->rows[t].cap * d->rows[t].width * sizeof(uint32_t) + slots_bytes(&d->rows[t].index) +
		     d->unsettled[t].cap;
	return n;
}

/* --- what there is no room for --- */

static bool has_room(const struct dictionary *d, uint64_t bytes)
{
	return d->names <= d->names_max && bytes <= d->names_max - d->names;
}

/* lender: whose string `lent` it is; NULL: it is copied. */
static uint32_t add_lent(struct dictionary *d, const char *text, size_t len, const struct dictionary *lender,
			 uint32_t lent)
{
	uint32_t before = strtab_count(d->strings), id;

	id = lender ? strtab_borrow(d->strings, lender->strings, lent) : strtab_add(d->strings, text, len);
	if (id != UINT32_MAX && id >= before)
		d->names += len + STRING_COST;
	if (len == sizeof(DICT_LEFT_OUT) - 1 && memcmp(text, DICT_LEFT_OUT, len) == 0)
		d->left_string = id == UINT32_MAX ? 0 : id;
	return id;
}

static uint32_t add_string(struct dictionary *d, const char *text, size_t len)
{
	return add_lent(d, text, len, NULL, 0);
}

static uint32_t left_string(struct dictionary *d)
{
	return d->left_string ? d->left_string : add_string(d, DICT_LEFT_OUT, sizeof(DICT_LEFT_OUT) - 1);
}

/* The row that stands for all that are left out. A frame has no mapping rather than a wrong one. */
static uint32_t left_row(struct dictionary *d, enum dictionary_table t)
{
	const struct named_line mark = {.kind = NAMED_MARK};
	uint32_t row[DICT_COLUMNS] = {0};

	d->refused++;
	if (t == DICT_MAPPINGS)
		return 0;
	row[0] = t == DICT_FRAMES ? left_row(d, DICT_FUNCTIONS) : left_string(d);
	row[2] = t == DICT_FRAMES ? frame_bits(&mark, false) : 0;
	d->left_out += t == DICT_FRAMES || t == DICT_LABELS;
	return row[0] == UINT32_MAX ? UINT32_MAX : row_id(d, t, row);
}

/* Does it refer to something that was left out? */
static bool is_left(const struct dictionary *d, enum dictionary_table t, const uint32_t *row)
{
	bool left = false;

	if (!d->left_string)
		return false;
	if (t == DICT_FRAMES)
		return dictionary_row(d, DICT_FUNCTIONS, row[0])[0] == d->left_string;
	for (uint32_t i = 0; i < columns[t].width; i++)
		left |= columns[t].refers[i] == DICT_STRINGS && row[i] == d->left_string;
	return left;
}

uint8_t dictionary_kind(const struct dictionary *d, uint32_t node)
{
	uint32_t frame = dictionary_row(d, DICT_NODES, node)[1];

	return frame_bits_line(dictionary_row(d, DICT_FRAMES, frame)[2]).kind;
}

bool dictionary_is_left_out(const struct dictionary *d, uint32_t function)
{
	return is_left(d, DICT_FUNCTIONS, dictionary_row(d, DICT_FUNCTIONS, function));
}

/* Without its line; the same as its parent if that is left out, too. */
static uint32_t node_id(struct dictionary *d, const uint32_t *row)
{
	const uint32_t left[] = {row[0], row[1], 0};

	if (!is_left(d, DICT_FRAMES, dictionary_row(d, DICT_FRAMES, row[1])))
		return row_id(d, DICT_NODES, row);
	if (row[0] && dictionary_row(d, DICT_NODES, row[0])[1] == row[1])
		return row[0];
	return row_id(d, DICT_NODES, left);
}

uint32_t dictionary_id(struct dictionary *d, enum dictionary_table t, const uint32_t *row)
{
	uint64_t hash;
	uint32_t i;

	if (t == DICT_NODES && dictionary_follows(d, row))
		return dictionary_node_found(d, row[0] + 1 - d->forgotten_nodes);
	hash = row_hash(&d->rows[t], row);
	i = find_row(d, t, row, hash);
	if (i != SLOTS_NONE)
		return i;
	if (!indexed(&d->rows[t]))
		return UINT32_MAX;
	if (t == DICT_NODES)
		return node_id(d, row);
	return has_room(d, row_cost(t)) && !is_left(d, t, row) ? add_row(d, t, row, hash) : left_row(d, t);
}

static uint32_t string_id(struct dictionary *d, const char *text, const struct dictionary *lender, uint32_t lent)
{
	size_t len = strlen(text);
	uint32_t id = strtab_find(d->strings, text, len);

	if (id != UINT32_MAX || !strtab_ready(d->strings))
		return id;
	if (has_room(d, len + STRING_COST))
		return add_lent(d, text, len, lender, lent);
	d->refused++;
	return left_string(d);
}

uint32_t dictionary_string(struct dictionary *d, const char *text)
{
	return string_id(d, text, NULL, 0);
}

uint32_t dictionary_count(const struct dictionary *d, enum dictionary_table t)
{
	if (t == DICT_STRINGS)
		return strtab_count(d->strings);
	return d->rows[t].n + (t == DICT_NODES ? d->forgotten_nodes : 0);
}

const uint32_t *dictionary_row(const struct dictionary *d, enum dictionary_table t, uint32_t id)
{
	if (t == DICT_NODES)
		id = dictionary_node_at(d, id);
	return d->rows[t].v + (size_t)id * d->rows[t].width;
}

static void save_string(const struct dictionary *d, uint32_t id, struct buf *ret)
{
	const char *s = strtab_get(d->strings, id);
	size_t len = strlen(s);

	varint_add(ret, len);
	buf_add(ret, s, len);
}

/* A node's parent was usually created shortly before it. */
static void save_row(const struct dictionary *d, enum dictionary_table t, uint32_t id, struct buf *ret)
{
	const uint32_t *row = dictionary_row(d, t, id);

	varint_add(ret, t == DICT_NODES ? id - row[0] : row[0]);
	for (uint32_t i = 1; i < columns[t].width; i++)
		varint_add(ret, row[i]);
}

static size_t settled_bytes(const struct dictionary *d, enum dictionary_table t)
{
	return t == DICT_NODES ? d->node_segment : DICT_SEGMENT;
}

bool dictionary_save(struct dictionary *d, enum dictionary_table t, uint32_t *ret_first, struct buf *ret)
{
	uint32_t n = dictionary_count(d, t), id = d->saved[t];
	struct buf *b = &d->unsettled[t];

	if (n == id)
		return false;
	*ret_first = d->settled[t];
	for (; id < n && b->len < settled_bytes(d, t); id++)
		t == DICT_STRINGS ? save_string(d, id, b) : save_row(d, t, id, b);
	buf_add(ret, b->data, b->len);
	ret->failed |= b->failed;
	d->saved[t] = id;
	if (b->len >= settled_bytes(d, t)) {
		d->settled[t] = id;
		buf_reset(b);
	}
	return true;
}

static int load_string(struct dictionary *d, struct cursor *c)
{
	size_t len = varint_take(c);
	const char *s = cursor_take(c, len);
	uint32_t n = strtab_count(d->strings);
	uint32_t id = s ? add_string(d, s, len) : 0;

	return id == UINT32_MAX ? -ENOMEM : id == n ? 0 : -EBADMSG;
}

void dictionary_take_row(struct cursor *c, enum dictionary_table t, uint32_t *row)
{
	for (uint32_t i = 0; i < columns[t].width; i++)
		row[i] = varint_take_u32(c, UINT32_MAX);
}

static int load_row(struct dictionary *d, enum dictionary_table t, struct cursor *c)
{
	uint32_t row[DICT_COLUMNS] = {0}, n = dictionary_count(d, t), id;

	dictionary_take_row(c, t, row);
	for (uint32_t i = 0; i < columns[t].width; i++) {
		uint8_t to = columns[t].refers[i];

		if (to != NUMBER && row[i] > (to == DICT_NODES ? n : dictionary_count(d, to) - 1))
			return -EBADMSG;
	}
	if (t == DICT_NODES)
		row[0] = n - row[0];
	/* only the "none" row is its own parent */
	if (c->bad || (t == DICT_NODES && (row[0] == n || dictionary_depth(d, row[0]) >= DICT_DEPTH_MAX)))
		return -EBADMSG;
	id = t == DICT_NODES ? add_row(d, t, row, row_hash(&d->rows[t], row)) : row_id(d, t, row);
	return id == UINT32_MAX ? -ENOMEM : id == n ? 0 : -EBADMSG;
}

int dictionary_load(struct dictionary *d, enum dictionary_table t, uint32_t first, const void *bytes, size_t len)
{
	struct cursor c = cursor_make(bytes, len);
	int r = first == dictionary_count(d, t) ? 0 : -EBADMSG;

	while (r == 0 && cursor_left(&c))
		r = t == DICT_STRINGS ? load_string(d, &c) : load_row(d, t, &c);
	d->saved[t] = dictionary_count(d, t);
	d->settled[t] = len >= settled_bytes(d, t) ? d->saved[t] : first;
	buf_reset(&d->unsettled[t]);
	if (d->settled[t] == first)
		buf_add(&d->unsettled[t], bytes, len);
	return r < 0 ? r : c.bad ? -EBADMSG : 0;
}

/* UINT32_MAX: out of memory. */
static uint32_t translate_row(const struct dictionary *from, enum dictionary_table t, uint32_t id,
			      struct dictionary *to, uint32_t *const ids[DICT_TABLES])
{
	uint32_t row[DICT_COLUMNS] = {0};

	if (t == DICT_STRINGS)
		return string_id(to, strtab_get(from->strings, id), from->shares && to->shares ? from : NULL, id);
	for (uint32_t i = 0; i < columns[t].width; i++) {
		uint8_t refers = columns[t].refers[i];

		row[i] = dictionary_row(from, t, id)[i];
		if (refers != NUMBER)
			row[i] = dictionary_translate(from, refers, row[i], to, ids);
		if (refers != NUMBER && row[i] == UINT32_MAX)
			return UINT32_MAX;
	}
	return dictionary_id(to, t, row);
}

uint32_t dictionary_translate(const struct dictionary *from, enum dictionary_table t, uint32_t id,
			      struct dictionary *to, uint32_t *const ids[DICT_TABLES])
{
	uint64_t refused = to->refused;
	uint32_t ret;

	if (!id || ids[t][id])
		return id ? ids[t][id] : 0;
	ret = translate_row(from, t, id, to, ids);
	if (ret != UINT32_MAX && to->refused == refused)
		ids[t][id] = ret;
	return ret;
}
