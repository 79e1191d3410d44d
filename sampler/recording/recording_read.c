#include "sampler/recording/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "sampler/recording/decode.h"
#include "sampler/recording/dso_parse.h"
#include "sampler/recording/format.h"
#include "symbolizer/base/arena.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/vec.h"
#include "symbolizer/files/fileio.h"

/* A sample and the memory section before it (checked; empty if there is none). */
struct taken {
	struct cursor memory;
	struct raw_sample *sample;
};

/* The kernel's call chains are not longer (perf_event_max_stack is 127). */
enum { KERNEL_MAX = 1024 };

/* Stands for all kernel addresses, which are not in the file. */
static const uint64_t kernel_pcs[KERNEL_MAX] = {[0 ... KERNEL_MAX - 1] = UINT64_C(0xffffffff80000000)};

struct recording {
	struct arena arena; /* everything that the arrays point to, and the content itself */
	struct recording_facts facts;
	const char *maps;
	size_t maps_len;
	VEC(struct taken) taken;
	struct cursor last_memory;
	VEC(struct recording_thread) threads;
	VEC(struct recording_dso) dsos;
};

void recording_close(struct recording *r)
{
	if (!r)
		return;
	vec_done(&r->taken);
	vec_done(&r->threads);
	vec_done(&r->dsos);
	arena_done(&r->arena);
	free(r);
}

static void recording_close_at_exit(struct recording **r)
{
	recording_close(*r);
}

static void copy_text(char *dst, size_t size, const char *src)
{
	size_t n = strnlen(src, size - 1);

	memcpy(dst, src, n);
	dst[n] = '\0';
}

static bool parse_facts(struct recording *r, struct cursor *c)
{
	r->facts.pid = (pid_t)cursor_u32(c);
	r->facts.period = cursor_u64(c);
	copy_text(r->facts.event, sizeof(r->facts.event), get_text(c, &r->arena));
	copy_text(r->facts.comm, sizeof(r->facts.comm), get_text(c, &r->arena));
	copy_text(r->facts.command, sizeof(r->facts.command), get_text(c, &r->arena));
	return !c->bad;
}

static bool parse_thread(struct recording *r, struct cursor *c)
{
	struct recording_thread t = {0};

	t.tid = (pid_t)cursor_u32(c);
	t.ns_tid = (int32_t)cursor_u32(c);
	t.name = get_text(c, &r->arena);
	return !c->bad && vec_push(&r->threads, t);
}

static bool parse_dso(struct recording *r, struct cursor *c)
{
	struct recording_dso d = {0};

	d.path = get_text(c, &r->arena);
	return dso_parse(c, &r->arena, &d.record) && vec_push(&r->dsos, d);
}

/* Reads the next span of a memory section; `bytes`: the bytes of this span and the following ones. */
static bool take_span(struct cursor *c, struct cursor *bytes, uint64_t *end, struct recording_span *ret)
{
	uint64_t gap = get_uleb(c), len = get_uleb(c);

	if (c->bad || !len || gap > UINT64_MAX - *end || len > UINT64_MAX - *end - gap)
		return false;
	ret->addr = *end + gap;
	ret->len = len;
	ret->bytes = cursor_take(bytes, len);
	*end = ret->addr + len;
	return ret->bytes != NULL;
}

/* The number of spans, and a cursor at their bytes, after the table. */
static uint64_t memory_open(struct cursor *c, struct cursor *bytes)
{
	uint64_t n = get_uleb(c);

	*bytes = *c;
	for (uint64_t i = 0; i < n && !bytes->bad; i++) {
		get_uleb(bytes);
		get_uleb(bytes);
	}
	return n;
}

static bool parse_memory(struct recording *r, struct cursor *c)
{
	struct cursor table = *c, bytes;
	struct recording_span span;
	uint64_t n, end = 0;

	/* At most one per sample: many small ones would be slow to replay. */
	if (cursor_left(&r->last_memory))
		return false;
	r->last_memory = *c;
	n = memory_open(&table, &bytes);
	for (uint64_t i = 0; i < n; i++)
		if (!take_span(&table, &bytes, &end, &span))
			return false;
	return !bytes.bad && !cursor_left(&bytes);
}

static void parse_regs(struct cursor *c, struct regs *regs)
{
	uint64_t known = cursor_u64(c);

	for (unsigned i = 0; i < REGS_MAX; i++)
		if (known >> i & 1)
			regs_set(regs, i, cursor_u64(c));
}

static bool parse_kernel(struct cursor *c, struct raw_sample *s)
{
	s->n_kernel = cursor_u32(c);
	s->kernel = kernel_pcs;
	return s->n_kernel <= KERNEL_MAX && !c->bad;
}

static bool parse_frozen(struct cursor *c, uint8_t flags, struct raw_sample *s)
{
	if (flags & SAMPLE_HAS_FROZEN) {
		s->frozen_len = cursor_u32(c);
		s->frozen = cursor_take(c, s->frozen_len);
	}
	return !c->bad;
}

static bool parse_sample(struct recording *r, struct cursor *c)
{
	struct raw_sample *s = arena_alloc(&r->arena, sizeof(*s));
	uint8_t state, flags;

	if (!s)
		return false;
	s->pid = r->facts.pid;
	s->tid = (pid_t)cursor_u32(c);
	cursor_u32(c); /* ns_tid, which the thread has as well */
	s->time_ns = cursor_u64(c);
	s->weight = cursor_u64(c);
	state = cursor_u8(c);
	flags = cursor_u8(c);
	s->state = state < THREAD_STATES ? (enum thread_state)state : THREAD_RUNNING;
	s->has_user = flags & SAMPLE_HAS_USER;
	s->stack_cut = flags & SAMPLE_STACK_CUT;
	parse_regs(c, &s->regs);
	s->stack_addr = cursor_u64(c);
	s->stack_len = cursor_u32(c);
	s->stack = cursor_take(c, s->stack_len);
	if (c->bad || !parse_kernel(c, s) || !parse_frozen(c, flags, s) ||
	    !vec_push(&r->taken, ((struct taken){r->last_memory, s})))
		return false;
	r->last_memory = (struct cursor){0};
	return true;
}

static bool parse_section(struct recording *r, uint32_t tag, struct cursor *c)
{
	switch (tag) {
	case TAG_FACTS: return parse_facts(r, c);
	case TAG_MAPS:
		r->maps_len = cursor_left(c);
		r->maps = cursor_take(c, r->maps_len);
		return true;
	case TAG_THREAD: return parse_thread(r, c);
	case TAG_DSO: return parse_dso(r, c);
	case TAG_MEMORY: return parse_memory(r, c);
	case TAG_SAMPLE: return parse_sample(r, c);
	default: return false;
	}
}

static int parse_sections(struct recording *r, struct cursor *c, struct err *err)
{
	while (cursor_left(c)) {
		uint32_t tag = cursor_u32(c), len = cursor_u32(c);
		const void *bytes = cursor_take(c, len);
		struct cursor section;

		if (c->bad || !bytes)
			return err_set(err, -EBADMSG, "the recording is cut off");
		section = cursor_make(bytes, len);
		if (!parse_section(r, tag, &section))
			return err_set(err, -EBADMSG, "the recording has a malformed section (tag %u)", tag);
		if (!decode_fits(&r->arena))
			return err_set(err, -EFBIG, "the recording would take too much memory");
	}
	return 0;
}

int recording_parse(const void *bytes, size_t len, struct recording **ret, struct err *err)
{
	CLEANUP(recording_close_at_exit) struct recording *r = calloc(1, sizeof(*r));
	const void *copy, *magic;
	struct cursor c;
	int e;

	copy = r && len <= RECORDING_MAX_BYTES ? arena_copy(&r->arena, bytes, len) : NULL;
	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	c = cursor_make(copy, len);
	magic = cursor_take(&c, RECORDING_MAGIC_LEN);
	if (!magic || memcmp(magic, RECORDING_MAGIC, RECORDING_MAGIC_LEN) != 0)
		return err_set(err, -EBADMSG, "not a recording of jsampler, or one of another version");
	e = parse_sections(r, &c, err);
	if (e < 0)
		return e;
	*ret = take_ptr(r);
	return 0;
}

static int decompress(const char *z, size_t z_len, struct recording **ret, struct err *err)
{
	unsigned long long len = ZSTD_getFrameContentSize(z, z_len);
	CLEANUP(free_at_exit) void *bytes = NULL;
	size_t n;

	if (len == ZSTD_CONTENTSIZE_ERROR || len == ZSTD_CONTENTSIZE_UNKNOWN || len > RECORDING_MAX_BYTES)
		return err_set(err, -EBADMSG, "not a recording of jsampler");
	bytes = malloc(len + 1);
	if (!bytes)
		return err_set(err, -ENOMEM, "out of memory");
	n = ZSTD_decompress(bytes, len, z, z_len);
	if (ZSTD_isError(n))
		return err_set(err, -EBADMSG, "the recording is damaged: %s", ZSTD_getErrorName(n));
	return recording_parse(bytes, n, ret, err);
}

int recording_read(int fd, const char *name, struct recording **ret, struct err *err)
{
	CLEANUP(free_at_exit) char *z = NULL;
	size_t z_len;
	int r = file_read_fd(fd, RECORDING_MAX_BYTES, &z, &z_len);

	if (r < 0)
		return err_set(err, r, "cannot read '%s': %s", name, strerror(-r));
	r = decompress(z, z_len, ret, err);
	return r < 0 ? err_wrap(err, r, "'%s'", name) : 0;
}

int recording_open(const char *path, struct recording **ret, struct err *err)
{
	CLEANUP(close_at_exit) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return err_set(err, -errno, "cannot read '%s': %m", path);
	return recording_read(fd, path, ret, err);
}

const struct recording_facts *recording_facts(const struct recording *r)
{
	return &r->facts;
}

const char *recording_maps(const struct recording *r, size_t *len)
{
	*len = r->maps_len;
	return r->maps ? r->maps : "";
}

size_t recording_sample_count(const struct recording *r)
{
	return r->taken.n;
}

const struct raw_sample *recording_sample(const struct recording *r, size_t i)
{
	return r->taken.v[i].sample;
}

void recording_keep_samples(struct recording *r, const bool *keep)
{
	for (size_t i = 0; i < r->taken.n; i++)
		if (!keep[i])
			r->taken.v[i].sample = NULL;
}

int recording_each_span(const struct recording *r, size_t i, recording_span_fn *fn, void *ctx)
{
	struct cursor table = i < r->taken.n ? r->taken.v[i].memory : r->last_memory, bytes;
	struct recording_span span;
	uint64_t n, end = 0;
	int e = 0;

	if (!cursor_left(&table))
		return 0;
	n = memory_open(&table, &bytes);
	for (uint64_t k = 0; k < n && e >= 0 && take_span(&table, &bytes, &end, &span); k++)
		e = fn(ctx, &span);
	return e < 0 ? e : 0;
}

size_t recording_thread_count(const struct recording *r)
{
	return r->threads.n;
}

const struct recording_thread *recording_thread(const struct recording *r, size_t i)
{
	return &r->threads.v[i];
}

size_t recording_dso_count(const struct recording *r)
{
	return r->dsos.n;
}

const struct recording_dso *recording_dso(const struct recording *r, size_t i)
{
	return &r->dsos.v[i];
}
