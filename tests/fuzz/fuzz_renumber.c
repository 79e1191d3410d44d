/*
 * Nodes of a day's file that are taken into another dictionary (renumber.h): the segments are any bytes, and so are the numbers
 * that are asked for. If the file can be loaded, the stacks must be the same.
 *
 * The input: a byte with the number of segments; each as a byte with its length, and bytes; then numbers of two bytes each.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "sampler/store/stacks/dictionary.h"
#include "sampler/store/stacks/renumber.h"
#include "sampler/store/stacks/segment_rows.h"
#include "symbolizer/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEGMENTS = 15, WRONG = 0x80 /* of a length: one row more is announced */, FRAMES = 200, BEFORE = 1000 };

struct segment {
	uint32_t first, n;
	const uint8_t *bytes;
	size_t len;
};

struct file {
	struct segment segments[SEGMENTS];
	size_t n;
	struct dictionary *whole, *to;
	bool sound; /* `whole` has all segments */
};

static void require(bool holds)
{
	if (!holds)
		abort();
}

static int fetch(void *ctx, uint32_t first, struct buf *ret, struct err *err)
{
	const struct file *f = ctx;

	for (size_t i = 0; i < f->n; i++)
		if (f->segments[i].first == first) {
			buf_add(ret, f->segments[i].bytes, f->segments[i].len);
			return 0;
		}
	return err_set(err, -EBADMSG, "no such segment");
}

/* Those without a row are left out, as a file has none. */
static const uint8_t *take_segment(struct file *f, const uint8_t *at, const uint8_t *end, uint32_t first)
{
	struct segment *s = &f->segments[f->n];
	size_t left = (size_t)(end - at) - 1, len = at[0] & ~WRONG;
	struct buf plain = {0};

	*s = (struct segment){.first = first, .bytes = at + 1, .len = len < left ? len : left};
	buf_add(&plain, s->bytes, s->len);
	if (segment_count_rows(&plain, DICT_NODES, first, &s->n) == 0) {
		if (dictionary_load(f->whole, DICT_NODES, first, s->bytes, s->len) < 0 || at[0] & WRONG)
			f->sound = false;
		s->n += at[0] & WRONG ? 1 : 0;
		f->n++;
	}
	buf_done(&plain);
	return s->bytes + s->len;
}

/* A root that says nothing is none, and then so is one below it. */
static bool is_nothing(const struct dictionary *d, uint32_t node)
{
	for (; node; node = dictionary_row(d, DICT_NODES, node)[0])
		if (dictionary_row(d, DICT_NODES, node)[1] || dictionary_row(d, DICT_NODES, node)[2])
			return false;
	return true;
}

static bool is_same_stack(const struct file *f, uint32_t x, uint32_t y)
{
	while (x && y) {
		const uint32_t *a = dictionary_row(f->whole, DICT_NODES, x), *b = dictionary_row(f->to, DICT_NODES, y);

		if (a[1] != b[1] || a[2] != b[2])
			return false;
		x = a[0];
		y = b[0];
	}
	return !y && is_nothing(f->whole, x);
}

static int take(struct renumber *r, const struct file *f, const uint8_t *at, const uint8_t *end)
{
	struct err err = {0};
	bool new;
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < f->n; i++)
		ret = renumber_segment(r, f->segments[i].first, f->segments[i].n);
	for (; ret == 0 && end - at >= 2; at += 2) {
		uint32_t node = at[0] | (uint32_t)at[1] << 8;

		ret = renumber_want(r, f->sound ? node % dictionary_count(f->whole, DICT_NODES) : node, &new);
	}
	while (ret == 0 && (ret = renumber_some(r, &err)) > 0)
		ret = 0;
	return ret;
}

static void check(const struct renumber *r, const struct file *f, const uint8_t *at, const uint8_t *end)
{
	for (; f->sound && end - at >= 2; at += 2) {
		uint32_t node = (at[0] | (uint32_t)at[1] << 8) % dictionary_count(f->whole, DICT_NODES);

		require(is_same_stack(f, node, renumber_id(r, node)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *at = data + 1, *end = data + size;
	struct file f = {.whole = dictionary_new(), .to = dictionary_new(), .sound = true};
	struct renumber r = {.to = f.to, .fetch = fetch, .ctx = &f, .max = SIZE_MAX};
	uint32_t first = 1;

	for (uint32_t i = 1; f.whole && i < FRAMES; i++)
		dictionary_id(f.whole, DICT_FRAMES, (uint32_t[]){0, 0, i});
	if (f.whole && f.to && size) {
		dictionary_skip_nodes(f.to, BEFORE);
		for (size_t n = data[0] % (SEGMENTS + 1); n && end - at >= 1; n--) {
			at = take_segment(&f, at, end, first);
			first = f.n ? f.segments[f.n - 1].first + f.segments[f.n - 1].n : 1;
		}
		if (take(&r, &f, at, end) == 0)
			check(&r, &f, at, end);
		else
			require(!f.sound);
	}
	renumber_done(&r);
	dictionary_free(f.to);
	dictionary_free(f.whole);
	return 0;
}
