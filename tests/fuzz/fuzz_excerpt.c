/*
 * What one reader takes from the dictionary of a day's file: its segments are any bytes, and so are the numbers that are asked for.
 * If the whole file can be loaded, what was taken must be the same.
 *
 * The input: a byte with the number of segments, and LEAVES; each segment as a table, a length and bytes; then requests of four
 * bytes each: what, the table, and the number.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/excerpt.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEGMENTS = 15, LEAVES = 0x10, FAR = 0x80 /* of a table: the segment does not follow the one before */ };
enum { WANT, MARK, ADD, KINDS, REQUESTS = 32 };

struct segment {
	enum dictionary_table t;
	uint32_t first;
	const uint8_t *bytes;
	size_t len;
};

struct request {
	uint8_t kind;
	enum dictionary_table t;
	uint32_t id, added;
};

struct file {
	struct segment segments[SEGMENTS];
	struct request requests[REQUESTS];
	size_t n, n_requests;
	struct dictionary *whole;
	bool sound; /* `whole` has all segments */
};

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* --- the input --- */

static const uint8_t *take_segment(struct file *f, const uint8_t *at, const uint8_t *end)
{
	struct segment *s = &f->segments[f->n++];
	size_t left = (size_t)(end - at) - 2;

	s->t = (at[0] & 7) % DICT_TABLES;
	s->first = dictionary_count(f->whole, s->t) + (at[0] & FAR ? 1 : 0);
	s->bytes = at + 2;
	s->len = at[1] < left ? at[1] : left;
	if (dictionary_load(f->whole, s->t, s->first, s->bytes, s->len) < 0)
		f->sound = false;
	return s->bytes + s->len;
}

static void take_requests(struct file *f, const uint8_t *at, const uint8_t *end)
{
	for (; end - at >= 4 && f->n_requests < REQUESTS; at += 4) {
		struct request *q = &f->requests[f->n_requests++];

		*q = (struct request){
			.kind = at[0] % KINDS, .t = at[1] % DICT_TABLES, .id = at[2] | (uint32_t)at[3] << 8};
		if (f->sound)
			q->id %= dictionary_count(f->whole, q->t);
	}
}

/* --- asking --- */

static int fetch(void *ctx, enum dictionary_table t, uint32_t first, struct buf *ret, struct err *err)
{
	const struct file *f = ctx;

	for (size_t i = 0; i < f->n; i++)
		if (f->segments[i].len && f->segments[i].t == t && f->segments[i].first == first) {
			buf_add(ret, f->segments[i].bytes, f->segments[i].len);
			return 0;
		}
	return err_set(err, -EBADMSG, "no such segment");
}

static bool is_of_strings(enum dictionary_table t)
{
	return t == DICT_STRINGS || dictionary_refers(t, 0) == DICT_STRINGS;
}

static int ask(struct excerpt *e, struct request *q)
{
	struct err err = {0};
	uint32_t *mark;
	int r;

	if (q->kind == ADD && is_of_strings(q->t))
		return excerpt_add(e, q->t, q->id, &q->added, &err);
	if (q->kind == WANT || is_of_strings(q->t))
		return excerpt_want(e, q->t, q->id, &err);
	r = excerpt_mark(e, q->t, q->id, &mark, &err);
	if (r == 0 && q->id)
		*mark = 1 + q->id;
	return r;
}

static int ask_all(struct excerpt *e, struct file *f)
{
	struct err err = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < f->n; i++)
		if (f->segments[i].len) /* as a file has them */
			r = excerpt_segment(e, f->segments[i].t, f->segments[i].first);
	for (size_t i = 0; r == 0 && i < f->n_requests; i++)
		r = ask(e, &f->requests[i]);
	return r < 0 ? r : excerpt_make(e, &err);
}

/* --- comparing: rows of both dictionaries, by what they mean --- */

static bool is_same_text(const struct dictionary *a, uint32_t x, const struct dictionary *b, uint32_t y)
{
	return strcmp(strtab_get(a->strings, x), strtab_get(b->strings, y)) == 0;
}

static bool is_same_row(const struct dictionary *a, const struct dictionary *b, enum dictionary_table t, uint32_t x,
			uint32_t y)
{
	bool same = true;

	if (t == DICT_STRINGS)
		return is_same_text(a, x, b, y);
	for (uint32_t i = 0; i < dictionary_width(t); i++) {
		enum dictionary_table to = dictionary_refers(t, i);
		uint32_t v = dictionary_row(a, t, x)[i], w = dictionary_row(b, t, y)[i];

		same &= to == DICT_TABLES ? v == w : is_same_row(a, b, to, v, w);
	}
	return same;
}

static bool says_nothing(const uint32_t *node)
{
	return !node[1] && !node[2];
}

/* Roots that say nothing, however many, are none in the excerpt. No writer makes them: they are the row of "none". */
static bool is_same_stack(const struct dictionary *a, const struct dictionary *b, uint32_t x, uint32_t y)
{
	for (; x && y; x = dictionary_row(a, DICT_NODES, x)[0], y = dictionary_row(b, DICT_NODES, y)[0])
		if (dictionary_row(a, DICT_NODES, x)[2] != dictionary_row(b, DICT_NODES, y)[2] ||
		    !is_same_row(a, b, DICT_FRAMES, dictionary_row(a, DICT_NODES, x)[1],
				 dictionary_row(b, DICT_NODES, y)[1]))
			return false;
	while (x && says_nothing(dictionary_row(a, DICT_NODES, x)))
		x = dictionary_row(a, DICT_NODES, x)[0];
	return !x && !y;
}

static bool is_same(const struct excerpt *e, const struct file *f, const struct request *q, uint32_t id)
{
	if (e->leaves && q->t == DICT_NODES)
		return dictionary_kind(f->whole, q->id) == dictionary_kind(e->to, id);
	if (e->leaves && q->t == DICT_FRAMES)
		return dictionary_row(f->whole, q->t, q->id)[2] == dictionary_row(e->to, q->t, id)[2];
	return q->t == DICT_NODES ? is_same_stack(f->whole, e->to, q->id, id) :
				    is_same_row(f->whole, e->to, q->t, q->id, id);
}

static void check(struct excerpt *e, const struct file *f)
{
	for (size_t i = 0; i < f->n_requests; i++) {
		const struct request *q = &f->requests[i];
		uint32_t id = excerpt_id(e, q->t, q->id), again;
		struct err err = {0};

		require(id < dictionary_count(e->to, q->t));
		require(!f->sound || is_same(e, f, q, id));
		require(q->kind != ADD || !q->added || q->added == id);
		if (q->t == DICT_STRINGS)
			require(excerpt_add(e, q->t, q->id, &again, &err) == 0 && again == id);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *at = data + 1, *end = data + size;
	struct file f = {.whole = dictionary_new(), .sound = true};
	struct excerpt e = {.to = dictionary_new(), .fetch = fetch, .ctx = &f};
	size_t segments = size ? data[0] % (SEGMENTS + 1) : 0;

	if (f.whole && e.to && size) {
		e.leaves = data[0] & LEAVES;
		while (f.n < segments && end - at >= 2)
			at = take_segment(&f, at, end);
		take_requests(&f, at, end);
		if (ask_all(&e, &f) == 0)
			check(&e, &f);
		else
			require(!f.sound);
	}
	excerpt_done(&e);
	dictionary_free(e.to);
	dictionary_free(f.whole);
	return 0;
}
