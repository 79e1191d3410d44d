#include "sampler/store/stacks/bucket.h"

#include <errno.h>
#include <stdlib.h>

#include "sampler/store/stacks/varint.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/base/sorted.h"

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

	return ascending(a->node, b->node) ?: ascending(a->label, b->label);
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

void bucket_begin(struct bucket_reader *r, const void *bytes, size_t len, uint64_t sums[BUCKET_SUMS])
{
	*r = (struct bucket_reader){.bytes = cursor_make(bytes, len)};
	for (int i = 0; i < BUCKET_SUMS; i++)
		sums[i] += varint_take(&r->bytes);
	r->period = varint_take(&r->bytes);
}

int bucket_next(struct bucket_reader *r, struct bucket_count *ret)
{
	struct cursor *c = &r->bytes;

	if (!cursor_left(c))
		return c->bad ? -EBADMSG : 0;
	r->node += varint_take_u32(c, UINT32_MAX - r->node);
	ret->node = r->node;
	ret->label = varint_take_u32(c, UINT32_MAX);
	ret->count = varint_take(c);
	ret->weight = ret->count * r->period + (uint64_t)varint_take_signed(c);
	return c->bad ? -EBADMSG : 1;
}

int bucket_read(struct bucket *b, const void *bytes, size_t len, uint32_t nodes, uint32_t labels)
{
	struct bucket_reader reader;
	struct bucket_count c;
	int r;

	bucket_begin(&reader, bytes, len, b->sums);
	bucket_period(b, reader.period);
	while ((r = bucket_next(&reader, &c)) > 0) {
		r = c.node < nodes && c.label < labels ? bucket_count(b, c.node, c.label, c.count, c.weight) : -EBADMSG;
		if (r < 0)
			break;
	}
	return r;
}
