#include "symbolizer/native/dso.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/strtab.h"
#include "symbolizer/native/dso_lines.h"
#include "symbolizer/native/dso_plt.h"
#include "symbolizer/native/dso_priv.h"
#include "symbolizer/target/mem.h"

enum { PAGE = 4096, SEGMENTS_MAX = 256, MEM_IMAGE_MAX = 64 << 10 };

struct dso *dso_new(const char *path, struct budget *b)
{
	struct dso *d = calloc(1, sizeof(*d));
	const char *slash;

	if (!d)
		return NULL;
	d->main.fd = d->debug.fd = d->mini.fd = -1;
	d->path = strdup(path);
	if (!d->path) {
		free(d);
		return NULL;
	}
	d->opened_ns = clock_monotonic_ns();
	d->budget = d->dynamic_names.budget = d->variables.budget = d->all_names.budget = b;
	slash = strrchr(d->path, '/');
	d->name = slash && slash[1] ? slash + 1 : d->path;
	return d;
}

bool dso_take(struct dso *d, uint64_t bytes)
{
	if (!budget_take(d->budget, bytes))
		return false;
	d->held += bytes;
	return true;
}

void dso_lend(struct dso *d, struct budget *b)
{
	d->user = b;
}

bool dso_begin(struct dso *d)
{
	bool is_within = d->budget && d->budget->depth;

	if (d->user && !is_within && budget_expired(d->user))
		return false;
	budget_begin(d->budget);
	budget_begin(d->user);
	return true;
}

void dso_end(struct dso *d)
{
	budget_end(d->user);
	budget_end(d->budget);
}

void dso_refuse(struct dso *d, uint64_t bytes, const char *what)
{
	char size[40] = "";

	if (bytes)
		snprintf(size, sizeof(size), " (%.1f MB)", (double)bytes / 1e6);
	budget_refuse(d->budget, bytes, "%s of %s%s", what, d->path, size);
}

static int load_segments(struct dso *d)
{
	Elf64_Phdr *ph = elf64_getphdr(d->main.elf);
	size_t n = 0;

	if (!ph || elf_getphdrnum(d->main.elf, &n) < 0)
		return 0;
	for (size_t i = 0; i < n && d->segments.n < SEGMENTS_MAX; i++) {
		struct dso_segment s = {ph[i].p_offset, ph[i].p_vaddr, ph[i].p_filesz, ph[i].p_memsz, ph[i].p_flags};

		if (ph[i].p_type == PT_LOAD && !vec_push(&d->segments, s))
			return -ENOMEM;
	}
	return 0;
}

/* r: how opening the image ended. The dso is closed if that or the rest fails. */
static int finish_open(struct dso *d, int r, struct dso **ret, struct err *err)
{
	if (r == 0)
		r = load_segments(d);
	if (r == 0) {
		d->build_id_len = image_build_id(&d->main, d->build_id, sizeof(d->build_id));
		*ret = d;
		return 0;
	}
	err_set(err, r,
		r == -E2BIG  ? "%s: its tables are too large" :
		r == -ENOMEM ? "%s: out of memory" :
			       "%s: not a 64-bit x86-64 ELF file",
		d->path);
	dso_close(d);
	return r;
}

int dso_open_fd(int fd, const char *path, struct budget *b, struct dso **ret, struct err *err)
{
	struct dso *d = dso_new(path, b);

	if (d)
		return finish_open(d, image_open_fd(&d->main, fd, b), ret, err);
	close(fd);
	return err_set(err, -ENOMEM, "%s: out of memory", path);
}

int dso_open_mem(struct mem *mem, uint64_t start, uint64_t end, const char *name, struct dso **ret, struct err *err)
{
	CLEANUP(free_at_exit) uint8_t *bytes = NULL;
	struct dso *d;

	if (end <= start || end - start > MEM_IMAGE_MAX)
		return err_set(err, -EFBIG, "%s: not an image of at most 64 KiB", name);
	bytes = malloc(end - start);
	if (bytes && !mem_read(mem, start, bytes, end - start))
		return err_set(err, -EFAULT, "%s: cannot read it from memory", name);
	d = bytes ? dso_new(name, NULL) : NULL;
	if (!d)
		return err_set(err, -ENOMEM, "%s: out of memory", name);
	return finish_open(d, image_open_bytes(&d->main, take_ptr(bytes), end - start, NULL), ret, err);
}

void dso_close(struct dso *d)
{
	if (!d)
		return;
	if (d->cfi)
		dwarf_cfi_end(d->cfi);
	for (unsigned i = 0; i < DEBUG_FRAMES; i++)
		debug_frame_free(d->frames[i]);
	lines_close(d->lines);
	vec_done(&d->symbols.syms);
	dso_plt_free(d->plt);
	name_index_done(&d->dynamic_names);
	name_index_done(&d->variables);
	name_index_done(&d->all_names);
	row_cache_done(&d->rows);
	vec_done(&d->recorded_lines);
	vec_done(&d->segments);
	image_close(&d->mini);
	image_close(&d->debug);
	image_close(&d->main);
	arena_done(&d->arena);
	budget_give(d->budget, d->held + d->symbols.held);
	strtab_free(d->line_texts);
	free(d->path);
	free(d);
}

const char *dso_path(const struct dso *d)
{
	return d->path;
}

const char *dso_name(const struct dso *d)
{
	return d->name;
}

const uint8_t *dso_build_id(const struct dso *d, size_t *len)
{
	*len = d->build_id_len;
	return d->build_id;
}

const struct dso_segment *dso_segments(const struct dso *d, size_t *n)
{
	*n = d->segments.n;
	return d->segments.v;
}

void dso_set_debug_open(struct dso *d, dso_debug_open_fn *fn, void *ctx)
{
	d->debug_open = fn;
	d->debug_ctx = ctx;
}

void dso_set_lines_child(struct dso *d, struct lines_child *child)
{
	d->lines_child = child;
}

void dso_set_tap(struct dso *d, const struct dso_tap *tap)
{
	d->tap = tap;
}

/* `pages`: as whole pages, which is how the kernel maps a segment. */
static bool segment_covers(const struct dso_segment *s, uint64_t offset, bool pages)
{
	uint64_t lo = s->offset, len = s->filesz;

	if (pages) {
		uint64_t lead = lo % PAGE;

		if (!len || len > UINT64_MAX - 2 * PAGE)
			return false;
		lo -= lead;
		len = (len + lead + PAGE - 1) / PAGE * PAGE;
	}
	return offset >= lo && offset - lo < len;
}

static const struct dso_segment *find_segment(const struct dso *d, uint64_t offset, bool exec, bool pages)
{
	for (size_t i = 0; i < d->segments.n; i++) {
		const struct dso_segment *s = &d->segments.v[i];

		if ((!exec || (s->flags & PF_X)) && segment_covers(s, offset, pages))
			return s;
	}
	return NULL;
}

bool dso_offset_to_vaddr(const struct dso *d, uint64_t offset, uint64_t *ret)
{
	const struct dso_segment *s = find_segment(d, offset, true, true);

	if (!s)
		s = find_segment(d, offset, true, false);
	if (!s)
		s = find_segment(d, offset, false, true);
	if (!s)
		s = find_segment(d, offset, false, false);
	if (!s)
		return false;
	*ret = s->vaddr + (offset - s->offset);
	return true;
}
