#include "symbolizer/native/dwarf_image.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "symbolizer/base/budget.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/native/image.h"
#include "symbolizer/target/arch.h"

enum {
	MAX_WANTED = 10,
	MAX_SECTIONS = MAX_WANTED + 2, /* with the null section and the section names */
	NAME_SIZE = 20,
	PAGE = 4096,
	CHUNK = 64 << 10,
	ZDEBUG_HEADER = 12, /* "ZLIB" and the size, 8 bytes, big-endian */
	DEFLATE_MOST = 1032, /* one byte expands to no more than this many (zlib's technical notes) */
	ZSTD_MOST = 32 << 10, /* a block of 128 KiB has 4 bytes or more (RFC 8878, section 3.1.1.2) */
	ZSTD_TYPE = 2, /* ELFCOMPRESS_ZSTD, since glibc 2.37 */
};
/* Mapped pages of a file cost less than private memory, so their limit is higher. */
#define MAPPED_MAX (UINT64_C(1) << 30)

/* The sections of each use; without the first, there is nothing to read. */
static const struct use {
	const char *names[MAX_WANTED];
	unsigned n;
	uint64_t most; /* private memory, in bytes */
	unsigned times; /* bytes of the budget for one of these */
} uses[] = {
	/* The other .debug_* sections (location lists, names, macros) are half of the bytes and say nothing about lines. */
	[DWARF_LINES] = {{"debug_info", "debug_abbrev", "debug_line", "debug_line_str", "debug_str", "debug_addr",
			  "debug_ranges", "debug_rnglists", "debug_str_offsets", "gnu_debugaltlink"},
			 10,
			 UINT64_MAX,
			 1},
	/* libdw keeps some hundred bytes for each entry, which has at least 24 bytes. */
	[DWARF_FRAMES] = {{"debug_frame"}, 1, 16 << 20, 7},
};

/* A section's place in the file and in the image. */
struct dwarf_section {
	uint64_t from, from_len; /* in the file, without the header of a compressed section */
	uint64_t at, len; /* in the image; len 0: there is no such section */
	bool packed, zstd, mapped;
};

struct plan {
	struct image *im;
	const struct use *use;
	struct dwarf_section part[MAX_WANTED];
	uint64_t len, own, mapped; /* length of the image; private memory for it; mapped pages of the file */
};

static bool read_chdr(struct image *im, struct dwarf_section *p)
{
	Elf64_Chdr ch;

	if (p->from_len < sizeof(ch) || !image_read(im, p->from, &ch, sizeof(ch)) ||
	    (ch.ch_type != ELFCOMPRESS_ZLIB && ch.ch_type != ZSTD_TYPE))
		return false;
	p->zstd = ch.ch_type == ZSTD_TYPE;
	p->len = ch.ch_size;
	p->from += sizeof(ch);
	p->from_len -= sizeof(ch);
	return true;
}

static bool read_zdebug(struct image *im, struct dwarf_section *p)
{
	uint8_t h[ZDEBUG_HEADER];

	if (p->from_len < sizeof(h) || !image_read(im, p->from, h, sizeof(h)) || memcmp(h, "ZLIB", 4))
		return false;
	for (unsigned i = 4; i < ZDEBUG_HEADER; i++)
		p->len = p->len << 8 | h[i];
	p->from += sizeof(h);
	p->from_len -= sizeof(h);
	return true;
}

/* Finds `name` in the file; len stays 0 if there is no such section. false: malformed. */
static bool find_part(struct image *im, const char *name, struct dwarf_section *p)
{
	char text[NAME_SIZE + 2];
	bool zdebug = false;
	Elf64_Shdr sh;

	snprintf(text, sizeof(text), ".%s", name);
	if (!image_section(im, text, &sh)) {
		snprintf(text, sizeof(text), ".z%s", name);
		zdebug = true;
		if (!image_section(im, text, &sh))
			return true;
	}
	if (sh.sh_type == SHT_NOBITS)
		return true;
	p->from = sh.sh_offset;
	p->from_len = sh.sh_size;
	if (p->from > im->size || p->from_len > im->size - p->from)
		return false;
	p->packed = zdebug || (sh.sh_flags & SHF_COMPRESSED);
	if (!p->packed)
		p->len = p->from_len;
	else if (!(zdebug ? read_zdebug(im, p) : read_chdr(im, p)) ||
		 p->len / (p->zstd ? ZSTD_MOST : DEFLATE_MOST) > p->from_len ||
		 (p->zstd && p->from_len > ZSTD_compressBound(p->len)))
		return false;
	return true;
}

static uint64_t whole_pages(uint64_t n)
{
	return (n + PAGE - 1) / PAGE * PAGE;
}

static uint64_t lead_of(const struct dwarf_section *p)
{
	return p->mapped ? p->from % PAGE : 0;
}

static int plan_make(struct plan *pl, bool map)
{
	struct image *im = pl->im;

	pl->len = pl->own = PAGE; /* headers and names */
	for (unsigned i = 0; i < pl->use->n; i++) {
		struct dwarf_section *p = &pl->part[i];

		if (!find_part(im, pl->use->names[i], p))
			return -EINVAL;
		if (!p->len)
			continue;
		if (p->len > UINT64_C(1) << 40)
			return -E2BIG;
		p->mapped = map && !p->packed && im->fd >= 0;
		p->at = pl->len + lead_of(p);
		pl->len += whole_pages(lead_of(p) + p->len);
		*(p->mapped ? &pl->mapped : &pl->own) += whole_pages(lead_of(p) + p->len);
		if (p->zstd)
			pl->own += whole_pages(p->from_len);
	}
	return pl->part[0].len ? 0 : -ENOENT;
}

static int inflate_part(struct plan *pl, const struct dwarf_section *p, uint8_t *dst, struct budget *b)
{
	z_stream z = {.next_out = dst};
	uint64_t done = 0, out = p->len;
	uint8_t *in = malloc(CHUNK);
	int r = in && inflateInit(&z) == Z_OK ? Z_OK : Z_MEM_ERROR;

	while (r == Z_OK && out) {
		size_t room = out < UINT64_C(1) << 20 ? out : 1 << 20;

		if (!z.avail_in) {
			size_t n = p->from_len - done < CHUNK ? p->from_len - done : CHUNK;

			if (!n || !image_read(pl->im, p->from + done, in, n))
				break;
			done += n;
			z.next_in = in;
			z.avail_in = (unsigned)n;
		}
		if (budget_expired(b))
			break;
		z.avail_out = (unsigned)room;
		r = inflate(&z, Z_NO_FLUSH);
		out -= room - z.avail_out;
	}
	inflateEnd(&z);
	free(in);
	return !out ? 0 : budget_expired(b) ? -ETIME : r == Z_MEM_ERROR ? -ENOMEM : -EINVAL;
}

/* Each frame at once, without a window, of which a file could ask for 128 MiB. Formats before RFC 8878 are refused. */
static int unzstd_frames(const uint8_t *in, size_t in_len, uint8_t *dst, size_t len, struct budget *b)
{
	static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
	size_t frame, out;

	for (; in_len; in += frame, in_len -= frame, dst += out, len -= out) {
		if (budget_expired(b))
			return -ETIME;
		if (in_len < sizeof(magic) || memcmp(in, magic, sizeof(magic)))
			return -EINVAL;
		frame = ZSTD_findFrameCompressedSize(in, in_len);
		out = ZSTD_isError(frame) ? frame : ZSTD_decompress(dst, len, in, frame);
		if (ZSTD_isError(out))
			return ZSTD_getErrorCode(out) == ZSTD_error_memory_allocation ? -ENOMEM : -EINVAL;
	}
	return len ? -EINVAL : 0;
}

static int unzstd_part(struct plan *pl, const struct dwarf_section *p, uint8_t *dst, struct budget *b)
{
	CLEANUP(free_at_exit) uint8_t *in = malloc(p->from_len);

	if (!in)
		return -ENOMEM;
	if (!image_read(pl->im, p->from, in, p->from_len))
		return -EINVAL;
	return unzstd_frames(in, p->from_len, dst, p->len, b);
}

static int place_part(struct plan *pl, const struct dwarf_section *p, uint8_t *base, struct budget *b)
{
	uint8_t *start = base + p->at - lead_of(p);
	size_t len = lead_of(p) + p->len;
	int prot = p->mapped ? PROT_READ : PROT_READ | PROT_WRITE;

	if (mmap(start, len, prot, MAP_FIXED | MAP_PRIVATE | (p->mapped ? 0 : MAP_ANONYMOUS),
		 p->mapped ? pl->im->fd : -1, p->mapped ? (off_t)(p->from - lead_of(p)) : 0) == MAP_FAILED)
		return -errno;
	if (p->zstd)
		return unzstd_part(pl, p, base + p->at, b);
	if (p->packed)
		return inflate_part(pl, p, base + p->at, b);
	return p->mapped || image_read(pl->im, p->from, base + p->at, p->len) ? 0 : -EINVAL;
}

/* The length of a string table up to its last NUL. */
static uint64_t terminated(const uint8_t *s, uint64_t len)
{
	const uint8_t *last = memrchr(s, 0, len);

	return last ? (uint64_t)(last - s) + 1 : 0;
}

static bool is_strings(const char *name)
{
	return !strcmp(name, "debug_str") || !strcmp(name, "debug_line_str");
}

/* Writes ELF header, section headers and section names, all in the first page. */
static void write_headers(const struct plan *pl, uint8_t *base)
{
	Elf64_Ehdr *eh = (Elf64_Ehdr *)(void *)base;
	Elf64_Shdr *sh = (Elf64_Shdr *)(void *)(base + sizeof(*eh));
	unsigned n = pl->use->n;
	char *names = (char *)(sh + n + 2);
	uint32_t at = 1;

	memcpy(eh->e_ident, ELFMAG, SELFMAG);
	eh->e_ident[EI_CLASS] = ELFCLASS64;
	eh->e_ident[EI_DATA] = ELFDATA2LSB;
	eh->e_ident[EI_VERSION] = EV_CURRENT;
	eh->e_type = ET_DYN;
	eh->e_machine = arch_host()->elf_machine;
	eh->e_version = EV_CURRENT;
	eh->e_ehsize = sizeof(*eh);
	eh->e_shoff = sizeof(*eh);
	eh->e_shentsize = sizeof(*sh);
	eh->e_shnum = (Elf64_Half)(n + 2);
	eh->e_shstrndx = (Elf64_Half)(n + 1);
	for (unsigned i = 0; i < n; i++) {
		const struct dwarf_section *p = &pl->part[i];
		uint64_t len = p->len && is_strings(pl->use->names[i]) ? terminated(base + p->at, p->len) : p->len;

		sh[i + 1] = (Elf64_Shdr){.sh_name = at,
					 .sh_type = len ? SHT_PROGBITS : SHT_NOBITS,
					 .sh_offset = p->at,
					 .sh_size = len,
					 .sh_addralign = 1};
		at += (uint32_t)sprintf(names + at, ".%s", pl->use->names[i]) + 1;
	}
	sh[n + 1] = (Elf64_Shdr){.sh_name = 0,
				 .sh_type = SHT_STRTAB,
				 .sh_addralign = 1,
				 .sh_offset = (uint64_t)(names - (char *)base),
				 .sh_size = at};
}
_Static_assert(sizeof(Elf64_Ehdr) + MAX_SECTIONS * (sizeof(Elf64_Shdr) + NAME_SIZE) < PAGE, "one page of headers");

static int fill(struct plan *pl, struct dwarf_image *di)
{
	int r = mprotect(di->base, PAGE, PROT_READ | PROT_WRITE) < 0 ? -errno : 0;

	for (unsigned i = 0; r == 0 && i < pl->use->n; i++)
		if (pl->part[i].len)
			r = place_part(pl, &pl->part[i], di->base, di->budget);
	if (r < 0)
		return r;
	write_headers(pl, di->base);
	elf_version(EV_CURRENT);
	di->elf = elf_memory((char *)di->base, di->len);
	return di->elf ? 0 : -EINVAL;
}

int dwarf_image_open(struct image *im, struct budget *b, enum dwarf_use use, bool map, struct dwarf_image *ret,
		     uint64_t *ret_bytes)
{
	struct plan pl = {.im = im, .use = &uses[use]};
	int r = plan_make(&pl, map);

	*ret = (struct dwarf_image){.budget = b};
	*ret_bytes = pl.own + pl.mapped;
	if (r < 0)
		return r;
	if (pl.mapped > MAPPED_MAX || pl.own > pl.use->most || !budget_take(b, pl.own * pl.use->times))
		return -E2BIG;
	ret->held = pl.own * pl.use->times;
	ret->len = pl.len;
	ret->base = mmap(NULL, pl.len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (ret->base == MAP_FAILED) {
		ret->base = NULL;
		r = -errno;
	}
	if (r == 0)
		r = fill(&pl, ret);
	if (r < 0)
		dwarf_image_close(ret);
	return r;
}

void dwarf_image_close(struct dwarf_image *di)
{
	if (di->elf)
		elf_end(di->elf);
	if (di->base)
		munmap(di->base, di->len);
	budget_give(di->budget, di->held);
	*di = (struct dwarf_image){0};
}
