#include "symbolizer/target/mem.h"

void mem_read_batch(struct mem *m, struct mem_span *spans, size_t n)
{
	if (m->ops->read_batch) {
		m->ops->read_batch(m, spans, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		spans[i].ok = mem_read(m, spans[i].addr, spans[i].dst, spans[i].len);
}

/* Reads aligned pieces: a string may end just before a hole in its last piece. */
bool mem_read_cstr(struct mem *m, uint64_t addr, char *dst, size_t max)
{
	const size_t piece = m->exact ? 8 : 64;
	size_t got = 0, want, n;

	while (got + 1 <= max) {
		want = piece - (addr + got) % piece;
		if (want > max - got)
			want = max - got;
		n = mem_read_some(m, addr + got, dst + got, want);
		if (memchr(dst + got, '\0', n))
			return true;
		got += n;
		if (n < want || got == max)
			break;
	}
	if (max > 0)
		dst[got < max ? got : max - 1] = '\0';
	return false;
}

/* How many of the `len` bytes at `addr` are in the copy; *skip: how many precede it. */
static size_t stack_overlap(const struct mem_stack *s, uint64_t addr, size_t len, size_t *skip)
{
	uint64_t off = addr - s->addr;

	*skip = 0;
	if (addr >= s->addr) {
		if (off >= s->len)
			return 0;
		return len < s->len - off ? len : s->len - off;
	}
	if (s->addr - addr >= len)
		return 0;
	*skip = s->addr - addr;
	return len - *skip < s->len ? len - *skip : s->len;
}

/* How much of the span precedes the hidden bytes. */
static size_t stack_visible(const struct mem_stack *s, uint64_t addr, size_t len)
{
	uint64_t from = s->addr + s->len;

	if (!s->hidden)
		return len;
	if (addr - from < s->hidden)
		return 0;
	return addr < from && from - addr < len ? from - addr : len;
}

static size_t base_read(struct mem_stack *s, uint64_t addr, uint8_t *dst, size_t len)
{
	len = stack_visible(s, addr, len);
	return s->base && len > 0 ? mem_read_some(s->base, addr, dst, len) : 0;
}

/* There are three parts, each possibly empty: before the copy, in it, and after it. */
static size_t stack_read(struct mem *m, uint64_t addr, void *dst, size_t len)
{
	struct mem_stack *s = (struct mem_stack *)m;
	size_t skip, in = stack_overlap(s, addr, len, &skip), got;
	uint8_t *out = dst;

	if (in == 0)
		return base_read(s, addr, out, len);
	if (skip > 0 && (got = base_read(s, addr, out, skip)) < skip)
		return got;
	memcpy(out + skip, s->bytes + (addr + skip - s->addr), in);
	got = skip + in;
	return got + base_read(s, addr + got, out + got, len - got);
}

/* Consecutive spans outside of the copy are read as one batch. */
static void stack_read_batch(struct mem *m, struct mem_span *spans, size_t n)
{
	struct mem_stack *s = (struct mem_stack *)m;
	size_t i = 0, run, skip;

	while (i < n) {
		for (run = i; run < n; run++)
			if (!s->base || s->hidden || stack_overlap(s, spans[run].addr, spans[run].len, &skip) > 0)
				break;
		if (run > i)
			mem_read_batch(s->base, spans + i, run - i);
		if (run < n)
			spans[run].ok = mem_read(m, spans[run].addr, spans[run].dst, spans[run].len);
		i = run + 1;
	}
}

static void stack_new_sample(struct mem *m)
{
	struct mem_stack *s = (struct mem_stack *)m;

	if (s->base)
		mem_new_sample(s->base);
}

static void stack_free(struct mem *m)
{
	(void)m; /* the caller's memory */
}

void mem_stack_init(struct mem_stack *s, struct mem *base, uint64_t addr, const void *bytes, size_t len)
{
	static const struct mem_ops ops = {
		.read = stack_read,
		.read_batch = stack_read_batch,
		.new_sample = stack_new_sample,
		.free = stack_free,
	};

	*s = (struct mem_stack){.mem = {.ops = &ops}, .base = base, .addr = addr, .bytes = bytes};
	s->len = len <= UINT64_MAX - addr ? len : UINT64_MAX - addr;
}
