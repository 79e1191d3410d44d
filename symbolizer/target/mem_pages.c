#include <errno.h>
#include <stdlib.h>

#include "symbolizer/base/arena.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/target/mem.h"

struct span {
	uint64_t addr, len; /* addr + len does not wrap; len > 0 */
	const uint8_t *bytes; /* in the arena */
};

struct mem_pages {
	struct mem mem;
	struct arena bytes;
	VEC(struct span) spans; /* sorted, not overlapping */
};

static uint64_t span_end(const struct span *s)
{
	return s->addr + s->len;
}

/* The first span that ends behind addr; n: none. */
static size_t spans_find(const struct mem_pages *p, uint64_t addr)
{
	size_t lo = 0, hi = p->spans.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (span_end(&p->spans.v[mid]) <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static size_t pages_read(struct mem *m, uint64_t addr, void *dst, size_t len)
{
	struct mem_pages *p = (struct mem_pages *)m;
	uint8_t *out = dst;
	size_t got = 0;

	for (size_t i = spans_find(p, addr); i < p->spans.n && got < len; i++) {
		const struct span *s = &p->spans.v[i];
		uint64_t n;

		if (s->addr > addr + got)
			break;
		n = span_end(s) - (addr + got);
		if (n > len - got)
			n = len - got;
		memcpy(out + got, s->bytes + (addr + got - s->addr), n);
		got += n;
	}
	return got;
}

static void pages_free(struct mem *m)
{
	struct mem_pages *p = (struct mem_pages *)m;

	arena_done(&p->bytes);
	vec_done(&p->spans);
	free(p);
}

struct mem *mem_pages_new(void)
{
	static const struct mem_ops ops = {.read = pages_read, .free = pages_free};
	struct mem_pages *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->mem.ops = &ops;
	return &p->mem;
}

/* Puts `n` spans in the place of those in [from, to). Room for two more was made before. */
static void spans_replace(struct mem_pages *p, size_t from, size_t to, const struct span *with,
			  size_t n)
{
	memmove(p->spans.v + from + n, p->spans.v + to, (p->spans.n - to) * sizeof(*with));
	memcpy(p->spans.v + from, with, n * sizeof(*with));
	p->spans.n = p->spans.n - (to - from) + n;
}

/* Makes room for two more: an added span in the middle of an old one leaves three. */
static bool spans_reserve(struct mem_pages *p)
{
	if (!vec_push(&p->spans, (struct span){0}))
		return false;
	if (!vec_push(&p->spans, (struct span){0})) {
		p->spans.n--;
		return false;
	}
	p->spans.n -= 2;
	return true;
}

int mem_pages_add(struct mem *m, uint64_t addr, const void *bytes, size_t len)
{
	struct mem_pages *p = (struct mem_pages *)m;
	struct span with[3], add = {.addr = addr, .len = len};
	size_t from, to, n = 0;

	if (len > UINT64_MAX - addr)
		return -EINVAL;
	if (len == 0)
		return 0;
	add.bytes = arena_copy(&p->bytes, bytes, len);
	if (!add.bytes || !spans_reserve(p))
		return -ENOMEM;

	from = to = spans_find(p, addr);
	while (to < p->spans.n && p->spans.v[to].addr < span_end(&add))
		to++;
	if (from < to && p->spans.v[from].addr < addr) {
		with[n] = p->spans.v[from];
		with[n].len = addr - with[n].addr;
		n++;
	}
	with[n++] = add;
	if (from < to && span_end(&p->spans.v[to - 1]) > span_end(&add)) {
		struct span *old = &p->spans.v[to - 1];
		uint64_t cut = span_end(&add) - old->addr;

		with[n++] = (struct span){span_end(&add), old->len - cut, old->bytes + cut};
	}
	spans_replace(p, from, to, with, n);
	return 0;
}
