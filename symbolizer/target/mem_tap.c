#include <stdlib.h>

#include "symbolizer/target/mem.h"

struct mem_tap {
	struct mem mem;
	struct mem *base; /* borrowed */
	mem_note_fn *note;
	void *ctx;
};

static size_t tap_read(struct mem *m, uint64_t addr, void *dst, size_t len)
{
	struct mem_tap *t = (struct mem_tap *)m;
	size_t got = mem_read_some(t->base, addr, dst, len);

	if (got > 0)
		t->note(t->ctx, addr, dst, got);
	return got;
}

static void tap_read_batch(struct mem *m, struct mem_span *spans, size_t n)
{
	struct mem_tap *t = (struct mem_tap *)m;

	mem_read_batch(t->base, spans, n);
	for (size_t i = 0; i < n; i++)
		if (spans[i].ok && spans[i].len > 0)
			t->note(t->ctx, spans[i].addr, spans[i].dst, spans[i].len);
}

static void tap_new_sample(struct mem *m)
{
	mem_new_sample(((struct mem_tap *)m)->base);
}

static void tap_free(struct mem *m)
{
	free(m);
}

struct mem *mem_tap_new(struct mem *base, mem_note_fn *note, void *ctx)
{
	static const struct mem_ops ops = {
		.read = tap_read,
		.read_batch = tap_read_batch,
		.new_sample = tap_new_sample,
		.free = tap_free,
	};
	struct mem_tap *t = malloc(sizeof(*t));

	if (!t)
		return NULL;
	*t = (struct mem_tap){.mem = {.ops = &ops, .exact = true}, .base = base, .note = note, .ctx = ctx};
	return &t->mem;
}
