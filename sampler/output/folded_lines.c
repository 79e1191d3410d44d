#include "sampler/output/folded_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/model/named_profile.h"
#include "sampler/output/frame_ranks.h"
#include "sampler/output/writer.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/vec.h"

enum { OUT_SIZE = 64 * 1024 };

/* A stack while it is sorted, with a cursor at the frames compared so far, root first. */
struct cursor_item {
	uint32_t stack;
	uint32_t locations, lines; /* left: locations left in the stack, lines left in the current one */
	uint32_t rank; /* rank of the frame at the cursor; 0: the end of the stack */
	uint64_t count;
};

struct range {
	uint32_t lo, hi;
};

struct folded {
	const struct named_profile *np;
	struct frame_ranks ranks;
	struct cursor_item *items;
	uint32_t n_items;

	folded_sink_fn *sink;
	void *ctx;
	char *out;
	size_t out_len;
	int rc;
};

/* Advances to the next frame towards the leaf. */
static void advance(const struct folded *f, struct cursor_item *it)
{
	const struct named_stack *s = &f->np->stacks[it->stack];
	const struct named_location *l;

	if (!it->lines) {
		if (!it->locations) {
			it->rank = 0;
			return;
		}
		l = &f->np->locations[f->np->stack_locations[s->first + --it->locations]];
		it->lines = l->n_lines;
		if (!it->lines) {
			it->rank = f->ranks.unknown;
			return;
		}
	} else {
		l = &f->np->locations[f->np->stack_locations[s->first + it->locations]];
	}
	it->rank = f->ranks.of_line[l->first_line + --it->lines];
}

static struct cursor_item first_frame(const struct folded *f, uint32_t stack, uint64_t count)
{
	struct cursor_item it = {.stack = stack, .locations = f->np->stacks[stack].n, .count = count};

	if (it.locations)
		advance(f, &it);
	else
		it.rank = f->ranks.unknown;
	return it;
}

/* One item for each stack with samples: text shows threads only as roots. */
static bool make_items(struct folded *f)
{
	const struct named_profile *np = f->np;
	uint64_t *counts = calloc((size_t)np->n_stacks + 1, sizeof(*counts));

	f->items = malloc(((size_t)np->n_stacks + 1) * sizeof(*f->items));
	if (!counts || !f->items) {
		free(counts);
		return false;
	}
	for (uint32_t i = 0; i < np->n_samples; i++)
		counts[np->samples[i].stack] += np->samples[i].count;
	for (uint32_t s = 0; s < np->n_stacks; s++)
		if (counts[s])
			f->items[f->n_items++] = first_frame(f, s, counts[s]);
	free(counts);
	return true;
}

static void swap(struct cursor_item *a, struct cursor_item *b)
{
	struct cursor_item t = *a;

	*a = *b;
	*b = t;
}

static uint32_t pivot(const struct cursor_item *v, struct range r)
{
	uint32_t a = v[r.lo].rank, b = v[r.lo + (r.hi - r.lo) / 2].rank, c = v[r.hi - 1].rank;

	if (a > b) {
		uint32_t t = a;

		a = b;
		b = t;
	}
	return c < a ? a : c > b ? b : c;
}

/* Afterwards, items [ret.lo, ret.hi) have the pivot's rank; smaller ones come before, greater ones after. */
static struct range partition(struct cursor_item *v, struct range r)
{
	uint32_t p = pivot(v, r), lo = r.lo, i = r.lo, hi = r.hi;

	while (i < hi) {
		if (v[i].rank < p)
			swap(&v[i++], &v[lo++]);
		else if (v[i].rank > p)
			swap(&v[i], &v[--hi]);
		else
			i++;
	}
	return (struct range){lo, hi};
}

/* Stacks that ended together are equal lines: the first gets the sum, the others 0. */
static void merge(struct cursor_item *v, struct range r)
{
	for (uint32_t i = r.lo + 1; i < r.hi; i++) {
		v[r.lo].count += v[i].count;
		v[i].count = 0;
	}
}

/*
 * Multikey quicksort (Bentley and Sedgewick): partitions by one frame, then continues with the next
 * frame of those that are equal. Frames that stacks share are compared once per stack, not once per
 * comparison.
 */
static bool sort_items(struct folded *f)
{
	VEC(struct range) todo = {0};
	struct range r = {0, f->n_items}, same;
	bool ok = true;

	for (;;) {
		if (r.hi - r.lo < 2) {
			if (!todo.n)
				break;
			r = todo.v[--todo.n];
			continue;
		}
		same = partition(f->items, r);
		ok = (same.lo - r.lo < 2 || vec_push(&todo, ((struct range){r.lo, same.lo}))) &&
		     (r.hi - same.hi < 2 || vec_push(&todo, ((struct range){same.hi, r.hi})));
		if (!ok)
			break;
		r = same;
		if (!f->items[r.lo].rank) {
			merge(f->items, r);
			r.hi = r.lo;
			continue;
		}
		for (uint32_t i = r.lo; i < r.hi; i++)
			advance(f, &f->items[i]);
	}
	vec_done(&todo);
	return ok;
}

static void flush(struct folded *f)
{
	if (!f->rc && f->out_len)
		f->rc = f->sink(f->ctx, f->out, f->out_len);
	f->out_len = 0;
}

static void put(struct folded *f, const char *s, size_t len)
{
	if (len > OUT_SIZE - f->out_len)
		flush(f);
	if (len > OUT_SIZE) {
		if (!f->rc)
			f->rc = f->sink(f->ctx, s, len);
		return;
	}
	memcpy(f->out + f->out_len, s, len);
	f->out_len += len;
}

static void put_line(struct folded *f, const struct cursor_item *sorted)
{
	struct cursor_item it = first_frame(f, sorted->stack, sorted->count);
	char count[32];
	int n = snprintf(count, sizeof(count), " %" PRIu64 "\n", sorted->count);

	for (bool first = true; it.rank; advance(f, &it), first = false) {
		const struct frame_rank_text *t = &f->ranks.texts[it.rank];

		if (!first)
			put(f, ";", 1);
		put(f, t->s, t->len);
	}
	put(f, count, n);
}

static int put_lines(struct folded *f, uint64_t *ret_lines)
{
	uint64_t lines = 0;

	for (uint32_t i = 0; i < f->n_items && !f->rc; i++) {
		if (!f->items[i].count)
			continue;
		put_line(f, &f->items[i]);
		lines++;
	}
	flush(f);
	if (ret_lines)
		*ret_lines = lines;
	return f->rc;
}

static void folded_done(struct folded *f)
{
	frame_ranks_done(&f->ranks);
	free(f->items);
	free(f->out);
}

int folded_lines(const struct named_profile *np, const struct writer_options *o, folded_sink_fn *sink, void *ctx,
		 uint64_t *ret_lines, struct err *err)
{
	struct folded f = {.np = np, .sink = sink, .ctx = ctx, .out = malloc(OUT_SIZE)};
	int rc;

	if (frame_ranks_make(&f.ranks, np, o->annotate, o->lines) && f.out && make_items(&f) && sort_items(&f))
		rc = put_lines(&f, ret_lines);
	else
		rc = err_set(err, -ENOMEM, "out of memory");
	folded_done(&f);
	return rc;
}
