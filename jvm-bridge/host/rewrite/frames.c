/* Moving the frames of a StackMapTable, and what they say about a constructor's `this`. */
#include "jvm-bridge/host/rewrite/frames.h"

#include <errno.h>

enum {
	ITEM_UNINITIALIZED_THIS = 6,
	ITEM_OBJECT = 7,
	ITEM_UNINITIALIZED = 8,
	SAME_MAX = 63,
	SAME_STACK_MAX = 127, /* same locals, one stack item */
	SAME_STACK_EXTENDED = 247,
	CHOP_FIRST = 248,
	SAME_EXTENDED = 251,
	APPEND_LAST = 254,
	FULL = 255,
};

struct item {
	uint8_t tag;
	uint16_t value; /* of ITEM_OBJECT a constant, of ITEM_UNINITIALIZED the place of its `new` */
};

static struct item item_read(struct reader *r)
{
	struct item i = {.tag = (uint8_t)read_u1(r)};

	if (i.tag > ITEM_UNINITIALIZED)
		r->bad = true;
	if (i.tag >= ITEM_OBJECT)
		i.value = (uint16_t)read_u2(r);
	return i;
}

static void items_move(struct reader *r, size_t n, const struct code_map *m, struct writer *w)
{
	for (; n && !r->bad; n--) {
		struct item i = item_read(r);

		write_u1(w, i.tag);
		if (i.tag == ITEM_OBJECT)
			write_u2(w, i.value);
		if (i.tag != ITEM_UNINITIALIZED)
			continue;
		if (!map_is_at(m, i.value)) {
			r->bad = true;
			return;
		}
		write_u2(w, (uint32_t)map_instruction(m, i.value));
	}
}

static bool is_known(unsigned type)
{
	return type <= SAME_STACK_MAX || type >= SAME_STACK_EXTENDED;
}

static size_t delta_read(struct reader *r, unsigned type)
{
	if (type <= SAME_MAX)
		return type;
	return type <= SAME_STACK_MAX ? type - SAME_MAX - 1 : read_u2(r);
}

static void counted_items_move(struct reader *r, const struct code_map *m, struct writer *w)
{
	uint32_t n = read_u2(r);

	write_u2(w, n);
	items_move(r, n, m, w);
}

/* Frames without a delta of their own get one. */
static void frame_move(struct reader *r, unsigned type, size_t delta, const struct code_map *m, struct writer *w)
{
	if (type <= SAME_MAX)
		type = SAME_EXTENDED;
	else if (type <= SAME_STACK_MAX)
		type = SAME_STACK_EXTENDED;
	write_u1(w, type);
	write_u2(w, (uint32_t)delta);
	if (type == SAME_STACK_EXTENDED)
		items_move(r, 1, m, w);
	else if (type > SAME_EXTENDED && type <= APPEND_LAST)
		items_move(r, type - SAME_EXTENDED, m, w);
	else if (type == FULL) {
		counted_items_move(r, m, w);
		counted_items_move(r, m, w);
	}
}

int frames_move(struct reader table, const struct code_map *m, struct writer *ret, long *last)
{
	long at = -1, to = -1;

	for (uint32_t n = read_u2(&table); n && !table.bad; n--) {
		unsigned type = read_u1(&table);
		long before = to;

		if (!is_known(type))
			return -EINVAL;
		at += (long)delta_read(&table, type) + 1;
		if (table.bad || !map_is_at(m, (size_t)at))
			return -EINVAL;
		to = (long)m->to[at];
		frame_move(&table, type, (size_t)(to - before - 1), m, ret);
	}
	*last = to;
	return table.bad || table.at != table.size ? -EINVAL : 0;
}

void frame_of_handler(struct writer *w, long last, size_t at, uint32_t throwable)
{
	write_u1(w, FULL);
	write_u2(w, (uint32_t)((long)at - last - 1));
	write_u2(w, 0);
	write_u2(w, 1);
	write_u1(w, ITEM_OBJECT);
	write_u2(w, throwable);
}

/* The local variables that the next frame differs from. */
struct locals {
	struct item *items;
	size_t n, max;
};

static void local_add(struct locals *l, struct item i, struct reader *r)
{
	if (l->n == l->max) {
		r->bad = true;
		return;
	}
	l->items[l->n++] = i;
}

/* `new` with `dup` has two items: they count once where they are next to each other, which is where they usually are. */
static void item_count(struct uninitialized *u, struct item i, struct item before)
{
	u->self |= i.tag == ITEM_UNINITIALIZED_THIS;
	u->others += i.tag == ITEM_UNINITIALIZED && (before.tag != i.tag || before.value != i.value);
}

static void stack_count(struct reader *r, size_t n, struct uninitialized *u)
{
	struct item before = {0};

	for (; n && !r->bad; n--) {
		struct item i = item_read(r);

		item_count(u, i, before);
		before = i;
	}
}

static void locals_read(struct reader *r, unsigned type, struct locals *l)
{
	size_t n = 0;

	if (type > SAME_EXTENDED && type <= APPEND_LAST)
		n = type - SAME_EXTENDED;
	else if (type >= CHOP_FIRST && type < SAME_EXTENDED)
		l->n -= SAME_EXTENDED - type > l->n ? l->n : SAME_EXTENDED - type;
	else if (type == FULL) {
		l->n = 0;
		n = read_u2(r);
	}
	for (; n && !r->bad; n--)
		local_add(l, item_read(r), r);
}

static void frame_read(struct reader *r, unsigned type, struct locals *l, struct uninitialized *u)
{
	size_t stack = 0;

	locals_read(r, type, l);
	if (type == FULL)
		stack = read_u2(r);
	else if (type == SAME_STACK_EXTENDED || (type > SAME_MAX && type <= SAME_STACK_MAX))
		stack = 1;
	for (size_t i = 0; i < l->n; i++)
		item_count(u, l->items[i], i ? l->items[i - 1] : (struct item){0});
	stack_count(r, stack, u);
}

int frames_of_constructor(struct reader table, unsigned arguments, size_t max_locals,
			  void (*f)(const struct uninitialized *u, void *arg), void *arg)
{
	struct locals l = {.max = max_locals + 1};
	long at = -1;

	l.items = calloc(l.max, sizeof(*l.items));
	if (!l.items)
		return -ENOMEM;
	local_add(&l, (struct item){.tag = ITEM_UNINITIALIZED_THIS}, &table);
	for (; arguments && !table.bad; arguments--)
		local_add(&l, (struct item){0}, &table);
	for (uint32_t n = read_u2(&table); n && !table.bad; n--) {
		struct uninitialized u = {0};
		unsigned type = read_u1(&table);

		at += (long)delta_read(&table, type) + 1;
		u.at = (size_t)at;
		frame_read(&table, type, &l, &u);
		if (!table.bad && is_known(type))
			f(&u, arg);
		else
			table.bad = true;
	}
	free(l.items);
	return table.bad ? -EINVAL : 0;
}
