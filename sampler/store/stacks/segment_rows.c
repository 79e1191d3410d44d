#include "sampler/store/stacks/segment_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/store/stacks/varint.h"
#include "symbolizer/base/cursor.h"

/*
 * A number ends with the first byte below 0x80. A row has at least one byte, so that memory for each of them follows what
 * the file really has.
 */
int segment_count_rows(const struct buf *plain, enum dictionary_table t, uint32_t first, uint32_t *ret)
{
	struct cursor c = cursor_make(plain->data, plain->len);
	size_t n = 0, width = dictionary_width(t);

	if (t == DICT_STRINGS)
		for (; cursor_left(&c); n++)
			cursor_take(&c, varint_take(&c));
	else
		for (size_t i = 0; i < plain->len; i++)
			n += (uint8_t)plain->data[i] < 0x80;
	if (c.bad || !n || n % width || n / width >= UINT32_MAX - first)
		return -EBADMSG;
	*ret = (uint32_t)(n / width);
	return 0;
}

/* What follows the last number that ends belongs to none. */
void segment_rows_begin(struct segment_rows *r, const struct buf *plain, enum dictionary_table t)
{
	r->begin = (const uint8_t *)plain->data;
	r->end = r->begin + plain->len;
	r->t = t;
	r->width = dictionary_width(t);
	while (r->end > r->begin && r->end[-1] >= 0x80)
		r->end--;
}

/* A row begins behind the last byte of the one before, or at the beginning. */
void segment_rows_skip(struct segment_rows *r)
{
	const uint8_t *p = r->end - 1;
	uint32_t width = r->width;

	for (; p > r->begin; p--)
		if (p[-1] < 0x80 && !--width)
			break;
	r->end = p;
}

/* In the file, the caller of a node is relative to it. */
int segment_rows_take(struct segment_rows *r, uint32_t id, uint32_t *row)
{
	const uint8_t *end = r->end;
	struct cursor c;

	segment_rows_skip(r);
	c = cursor_make(r->end, (size_t)(end - r->end));
	row[DICT_COLUMNS - 1] = 0;
	dictionary_take_row(&c, r->t, row);
	if (c.bad || (r->t == DICT_NODES && (!row[0] || row[0] > id)))
		return -EBADMSG;
	if (r->t == DICT_NODES)
		row[0] = id - row[0];
	return 0;
}

bool segment_taken_room(struct segment_taken *t, uint32_t n)
{
	uint32_t *v;

	if (n <= t->cap)
		return true;
	v = realloc(t->v, (size_t)n * DICT_COLUMNS * sizeof(*v));
	if (!v)
		return false;
	t->v = v;
	t->cap = n;
	return true;
}

uint32_t *segment_taken_copy(const struct segment_taken *t, uint32_t from, uint32_t to)
{
	size_t size = (size_t)(to - from) * DICT_COLUMNS * sizeof(*t->v);
	uint32_t *copy = malloc(size + 1);

	return copy ? memcpy(copy, t->v + (size_t)from * DICT_COLUMNS, size) : NULL;
}

void segment_taken_done(struct segment_taken *t)
{
	free(t->v);
}
