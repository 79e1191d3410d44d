#include "sampler/store/bucket.h"

#include <errno.h>
#include <stdlib.h>

#include "sampler/store/stacks/varint.h"
#include "symbolizer/base/hash.h"

void bucket_done(struct bucket *b)
{
	free(b->counts);
	slots_done(&b->index);
	*b = (struct bucket){0};
}

static bool count_is(const void *ctx, const void *wanted, uint32_t position)
{
	const struct bucket *b = ctx;
	const struct bucket_count *w = wanted, *c = &b->counts[position];

	return c->node == w->node && c->label == w->label;
}

static bool make_room(struct bucket *b)
{
	uint32_t cap = b->cap ? b->cap * 2 : 64;
	struct bucket_count *v;

	if (b->n < b->cap)
		return true;
	v = cap > b->cap ? realloc(b->counts, cap * sizeof(*v)) : NULL;
	if (!v)
		return false;
	b->counts = v;
	b->cap = cap;
	return true;
}

int bucket_count(struct bucket *b, uint32_t node, uint32_t label, uint64_t count, uint64_t weight)
{
	struct bucket_count c = {node, label, count, weight};
	uint64_t hash = hash_u64((uint64_t)node << 32 | label);
	uint32_t i = slots_find(&b->index, hash, count_is, b, &c);

	if (i != SLOTS_NONE) {
		b->counts[i].count += count;
		b->counts[i].weight += weight;
		return 0;
	}
	if (!make_room(b) || !slots_add(&b->index, hash, b->n))
		return -ENOMEM;
	b->counts[b->n++] = c;
	return 0;
}

void bucket_period(struct bucket *b, uint64_t period)
{
	b->period = !b->n || b->period == period ? period : 0;
}

static int by_node(const void *va, const void *vb)
{
	const struct bucket_count *a = va, *b = vb;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->label < b->label ? -1 : a->label > b->label;
}

/* Most samples weigh one period, so the difference that is written is mostly 0. */
void bucket_write(struct bucket *b, struct buf *ret)
{
	uint32_t before = 0;

	if (b->n)
		qsort(b->counts, b->n, sizeof(*b->counts), by_node);
	for (int i = 0; i < BUCKET_SUMS; i++)
		varint_add(ret, b->sums[i]);
	varint_add(ret, b->period);
	for (uint32_t i = 0; i < b->n; i++) {
		const struct bucket_count *c = &b->counts[i];

		varint_add(ret, c->node - before);
		varint_add(ret, c->label);
		varint_add(ret, c->count);
		varint_add_signed(ret, (int64_t)(c->weight - c->count * b->period));
		before = c->node;
	}
}

int bucket_read(struct bucket *b, const void *bytes, size_t len, uint32_t nodes, uint32_t labels)
{
	struct cursor c = cursor_make(bytes, len);
	uint32_t node = 0;
	uint64_t period;
	int r = 0;

	for (int i = 0; i < BUCKET_SUMS; i++)
		b->sums[i] += varint_take(&c);
	period = varint_take(&c);
	bucket_period(b, period);
	while (r == 0 && cursor_left(&c)) {
		uint32_t label;
		uint64_t count, weight;

		node += varint_take_u32(&c, nodes - 1 - node);
		label = varint_take_u32(&c, labels - 1);
		count = varint_take(&c);
		weight = count * period + (uint64_t)varint_take_signed(&c);
		r = c.bad ? -EBADMSG : bucket_count(b, node, label, count, weight);
	}
	return r < 0 ? r : c.bad ? -EBADMSG : 0;
}
