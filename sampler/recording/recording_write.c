#include "sampler/recording/recording_writer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <zstd.h>

#include "sampler/recording/dso_facts.h"
#include "sampler/recording/format.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/encode.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/map.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/base/vec.h"

/* The best level takes a second for a few MB. Larger recordings are unlikely to be kept in a repository. */
enum { PAGE = 4096, SMALL = 8 << 20, COMPRESSION_SMALL = 19, COMPRESSION_LARGE = 6 };

/* State of a byte of the target. */
enum { BYTE_KNOWN = 1, BYTE_FRESH = 2 }; /* fresh: not yet in the file, or with another value there */

/* One page of the target, with the values last seen. */
struct shadow {
	uint64_t key; /* its address */
	bool fresh; /* it is in the list of fresh pages */
	uint8_t bytes[PAGE];
	uint8_t state[PAGE];
	UT_hash_handle hh;
};

/* Adjacent bytes. */
struct run {
	uint64_t addr;
	size_t len;
};

struct runs {
	VEC(struct run) list;
	struct buf bytes; /* of all runs */
};

struct recording_writer {
	struct shadow *shadows;
	VEC(struct shadow *) fresh;
	struct dso_facts *dsos;
	VEC(struct recording_tid) tids;
	struct buf threads, samples;
	bool failed; /* out of memory: something is missing */
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
	if (!w)
		return;
	map_free(w->shadows);
	dso_facts_free(w->dsos);
	vec_done(&w->fresh);
	vec_done(&w->tids);
	buf_done(&w->threads);
	buf_done(&w->samples);
	free(w);
}

const struct dso_tap *recording_tap(struct recording_writer *w)
{
	return dso_facts_tap(w->dsos);
}

static void shadow_freshen(struct recording_writer *w, struct shadow *s)
{
	if (s->fresh)
		return;
	s->fresh = vec_push(&w->fresh, s);
	w->failed |= !s->fresh;
}

static void note_in_page(struct recording_writer *w, uint64_t addr, const uint8_t *bytes, size_t len)
{
	uint64_t at = addr % PAGE, page = addr - at;
	struct shadow *s = map_entry(w->shadows, &page);

	if (!s) {
		w->failed = true;
		return;
	}
	for (size_t i = 0; i < len; i++) {
		if (s->state[at + i] && s->bytes[at + i] == bytes[i])
			continue;
		s->bytes[at + i] = bytes[i];
		s->state[at + i] = BYTE_KNOWN | BYTE_FRESH;
		shadow_freshen(w, s);
	}
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

static int compare_pages(const void *pa, const void *pb)
{
	const struct shadow *const *a = pa, *const *b = pb;

	return ascending((*a)->key, (*b)->key);
}

/* Appends the fresh bytes of a page; the first may extend the last run. */
static bool page_runs(const struct shadow *s, struct runs *runs)
{
	struct run *last;

	for (size_t i = 0; i < PAGE; i++) {
		if (!(s->state[i] & BYTE_FRESH))
			continue;
		last = runs->list.n ? &runs->list.v[runs->list.n - 1] : NULL;
		if (last && last->addr + last->len == s->key + i)
			last->len++;
		else if (!vec_push(&runs->list, ((struct run){s->key + i, 1})))
			return false;
		buf_add(&runs->bytes, &s->bytes[i], 1);
	}
	return true;
}

static void put_runs(struct buf *b, const struct runs *runs)
{
	size_t start = put_section(b, TAG_MEMORY);
	uint64_t end = 0;

	put_uleb(b, runs->list.n);
	for (size_t i = 0; i < runs->list.n; i++) {
		const struct run *run = &runs->list.v[i];

		put_uleb(b, run->addr - end);
		put_uleb(b, run->len);
		end = run->addr + run->len;
	}
	buf_add(b, runs->bytes.data, runs->bytes.len);
	put_section_end(b, start);
}

/* Writes everything noted since the last call, as one section. */
static void put_memory(struct recording_writer *w)
{
	struct runs runs = {0};

	if (w->fresh.n)
		qsort(w->fresh.v, w->fresh.n, sizeof(*w->fresh.v), compare_pages);
	for (size_t i = 0; i < w->fresh.n; i++) {
		struct shadow *s = w->fresh.v[i];

		w->failed |= !page_runs(s, &runs);
		for (size_t k = 0; k < PAGE; k++)
			s->state[k] &= (uint8_t)~BYTE_FRESH;
		s->fresh = false;
	}
	if (runs.list.n)
		put_runs(&w->samples, &runs);
	w->failed |= runs.bytes.failed;
	w->fresh.n = 0;
	buf_done(&runs.bytes);
	vec_done(&runs.list);
}

static void note_tid(struct recording_writer *w, pid_t tid, int32_t ns_tid)
{
	for (size_t i = 0; i < w->tids.n; i++)
		if (w->tids.v[i].tid == tid)
			return;
	w->failed |= !vec_push(&w->tids, ((struct recording_tid){tid, ns_tid}));
}

size_t recording_writer_tids(const struct recording_writer *w, const struct recording_tid **ret)
{
	*ret = w->tids.v;
	return w->tids.n;
}

void recording_writer_thread(struct recording_writer *w, pid_t tid, int32_t ns_tid, const char *name)
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
	struct buf *b = &w->samples;
	size_t start;

	put_memory(w);
	note_tid(w, s->tid, ns_tid);
	start = put_section(b, TAG_SAMPLE);
	put_u32(b, (uint32_t)s->tid);
	put_u32(b, (uint32_t)ns_tid);
	put_u64(b, s->time_ns);
	put_u64(b, s->weight);
	put_u8(b, (uint8_t)s->state);
	put_u8(b, (s->has_user ? SAMPLE_HAS_USER : 0) | (s->stack_cut ? SAMPLE_STACK_CUT : 0) |
			  (s->frozen_len ? SAMPLE_HAS_FROZEN : 0));
	put_regs(b, &s->regs);
	put_u64(b, s->stack_addr);
	put_u32(b, (uint32_t)s->stack_len);
	buf_add(b, s->stack, s->stack_len);
	put_u32(b, (uint32_t)s->n_kernel);
	if (s->frozen_len) {
		put_u32(b, (uint32_t)s->frozen_len);
		buf_add(b, s->frozen, s->frozen_len);
	}
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
	n = ZSTD_compress(z, bound, b->data, b->len, b->len <= SMALL ? COMPRESSION_SMALL : COMPRESSION_LARGE);
	if (ZSTD_isError(n))
		return err_set(err, -EIO, "cannot compress: %s", ZSTD_getErrorName(n));
	if (fwrite(z, 1, n, out) != n)
		return err_set(err, -errno, "cannot write the recording: %m");
	return 0;
}

int recording_writer_finish(struct recording_writer *w, const struct recording_facts *facts, const char *maps,
			    size_t maps_len, FILE *out, struct err *err)
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
	put_memory(w);
	buf_add(&b, w->samples.data, w->samples.len);
	if (b.failed || w->samples.failed || w->threads.failed || w->failed)
		return err_set(err, -ENOMEM, "out of memory");
	if (b.len > RECORDING_MAX_BYTES)
		return err_set(err, -EFBIG, "the recording is too large (%zu bytes): take fewer samples", b.len);
	return write_compressed(&b, out, err);
}
