#include "sampler/recording/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "sampler/recording/dso_facts.h"
#include "sampler/recording/format.h"
#include "sampler/recording/put.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/map.h"

enum { PAGE = 4096, COMPRESSION = 19 };

/* What is known of one page of the target, with the value last seen. */
struct shadow {
	uint64_t addr;
	uint8_t bytes[PAGE];
	uint8_t known[PAGE];
	UT_hash_handle hh;
};

struct recording_writer {
	struct shadow *shadows;
	struct dso_facts *dsos;
	struct buf threads, items;
};

struct recording_writer *recording_writer_new(void)
{
	struct recording_writer *w = calloc(1, sizeof(*w));

	if (w && !(w->dsos = dso_facts_new())) {
		free(w);
		return NULL;
	}
	return w;
}

void recording_writer_free(struct recording_writer *w)
{
	struct shadow *s, *next;

	if (!w)
		return;
	HASH_ITER(hh, w->shadows, s, next) {
		HASH_DEL(w->shadows, s);
		free(s);
	}
	dso_facts_free(w->dsos);
	buf_done(&w->threads);
	buf_done(&w->items);
	free(w);
}

const struct dso_tap *recording_tap(struct recording_writer *w)
{
	return dso_facts_tap(w->dsos);
}

static struct shadow *shadow_of(struct recording_writer *w, uint64_t page)
{
	struct shadow *s;

	HASH_FIND(hh, w->shadows, &page, sizeof(page), s);
	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->addr = page;
	HASH_ADD(hh, w->shadows, addr, sizeof(s->addr), s);
	if (!s->hh.tbl) {
		free(s);
		return NULL;
	}
	return s;
}

static void put_span(struct recording_writer *w, uint64_t addr, const uint8_t *bytes, size_t len)
{
	put_u32(&w->items, TAG_SPAN);
	put_u32(&w->items, (uint32_t)(8 + len));
	put_u64(&w->items, addr);
	buf_add(&w->items, bytes, len);
}

/* Within one page: keeps the runs of bytes that are new or have another value. */
static void note_in_page(struct recording_writer *w, uint64_t addr, const uint8_t *bytes, size_t len)
{
	size_t at = addr % PAGE, run = 0;
	struct shadow *s = shadow_of(w, addr - at);

	for (size_t i = 0; i <= len; i++) {
		bool fresh = i < len && (!s || !s->known[at + i] || s->bytes[at + i] != bytes[i]);

		if (fresh) {
			run++;
			continue;
		}
		if (run)
			put_span(w, addr + i - run, bytes + i - run, run);
		run = 0;
	}
	if (!s)
		return;
	memcpy(s->bytes + at, bytes, len);
	memset(s->known + at, 1, len);
}

void recording_note(void *ctx, uint64_t addr, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	while (len) {
		size_t n = PAGE - addr % PAGE;

		if (n > len)
			n = len;
		note_in_page(ctx, addr, p, n);
		addr += n;
		p += n;
		len -= n;
	}
}

void recording_writer_thread(struct recording_writer *w, pid_t tid, int32_t ns_tid,
			     const char *name)
{
	size_t start = put_section(&w->threads, TAG_THREAD);

	put_u32(&w->threads, (uint32_t)tid);
	put_u32(&w->threads, (uint32_t)ns_tid);
	put_text(&w->threads, name);
	put_section_end(&w->threads, start);
}

static void put_regs(struct buf *b, const struct regs *regs)
{
	put_u64(b, regs->known);
	for (unsigned i = 0; i < REGS_MAX; i++)
		if (regs_known(regs, i))
			put_u64(b, regs->r[i]);
}

void recording_writer_sample(struct recording_writer *w, const struct raw_sample *s, int32_t ns_tid)
{
	struct buf *b = &w->items;
	size_t start = put_section(b, TAG_SAMPLE);

	put_u32(b, (uint32_t)s->tid);
	put_u32(b, (uint32_t)ns_tid);
	put_u64(b, s->time_ns);
	put_u64(b, s->weight);
	put_u8(b, (uint8_t)s->state);
	put_u8(b, (s->has_user ? SAMPLE_HAS_USER : 0) | (s->stack_cut ? SAMPLE_STACK_CUT : 0));
	put_regs(b, &s->regs);
	put_u64(b, s->stack_addr);
	put_u32(b, (uint32_t)s->stack_len);
	buf_add(b, s->stack, s->stack_len);
	put_u32(b, (uint32_t)s->n_kernel);
	for (size_t i = 0; i < s->n_kernel; i++)
		put_u64(b, s->kernel[i]);
	put_section_end(b, start);
}

static void put_facts(struct buf *b, const struct recording_facts *f)
{
	size_t start = put_section(b, TAG_FACTS);

	put_u32(b, (uint32_t)f->pid);
	put_u64(b, f->period);
	put_text(b, f->event);
	put_text(b, f->comm);
	put_text(b, f->command);
	put_section_end(b, start);
}

static int write_compressed(const struct buf *b, FILE *out, struct err *err)
{
	size_t bound = ZSTD_compressBound(b->len), n;
	CLEANUP(free_at_exit) void *z = malloc(bound);

	if (!z)
		return err_set(err, -ENOMEM, "out of memory");
	n = ZSTD_compress(z, bound, b->data, b->len, COMPRESSION);
	if (ZSTD_isError(n))
		return err_set(err, -EIO, "cannot compress: %s", ZSTD_getErrorName(n));
	if (fwrite(z, 1, n, out) != n)
		return err_set(err, -errno, "cannot write the recording: %m");
	return 0;
}

int recording_writer_finish(struct recording_writer *w, const struct recording_facts *facts,
			    const char *maps, size_t maps_len, FILE *out, struct err *err)
{
	CLEANUP(buf_done) struct buf b = {0};
	size_t start;

	buf_add(&b, RECORDING_MAGIC, RECORDING_MAGIC_LEN);
	put_facts(&b, facts);
	start = put_section(&b, TAG_MAPS);
	buf_add(&b, maps, maps_len);
	put_section_end(&b, start);
	buf_add(&b, w->threads.data, w->threads.len);
	dso_facts_put(w->dsos, &b);
	buf_add(&b, w->items.data, w->items.len);
	if (b.failed || w->items.failed || w->threads.failed)
		return err_set(err, -ENOMEM, "out of memory");
	if (b.len > RECORDING_MAX_BYTES)
		return err_set(err, -EFBIG, "the recording has %zu bytes: take fewer samples", b.len);
	return write_compressed(&b, out, err);
}
