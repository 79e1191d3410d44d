#include "symbolizer/native/image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/base/cursor.h"
#include "symbolizer/target/arch.h"
#include "symbolizer/target/target_file.h"

/*
 * ELF images through libelf. Never one of its MMAP commands: the target owns the file and may truncate it; a mapping
 * would then raise SIGBUS.
 */

/*
 * Limits on the bytes of all names of a table together. They may exceed the table, since linkers let equal names and
 * suffixes overlap.
 */
enum { NAMES_LEAST = 16 << 20, NAMES_FACTOR = 8 };

enum { POLL_EVERY = 1 << 16 }; /* symbols that are passed over between two looks at the time */

bool image_read(const struct image *im, uint64_t off, void *dst, size_t len)
{
	uint8_t *p = dst;

	if (off > im->size || len > im->size - off)
		return false;
	if (im->fd < 0) {
		memcpy(dst, im->bytes + off, len);
		return true;
	}
	while (len) {
		ssize_t n = pread(im->fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return true;
}

/*
 * Needed because libelf allocates memory for every section that the header claims, and for each name scans the table of
 * names from its end. If the count is 0, it is in section 0 (elf(5)).
 */
static bool section_names_sane(const struct image *im, const Elf64_Ehdr *eh, uint64_t n)
{
	Elf64_Shdr sh;
	char last = 1;

	if (eh->e_shstrndx == SHN_UNDEF)
		return true;
	return eh->e_shstrndx < n && image_read(im, eh->e_shoff + eh->e_shstrndx * sizeof(sh), &sh, sizeof(sh)) &&
	       sh.sh_type == SHT_STRTAB && !(sh.sh_flags & SHF_COMPRESSED) && sh.sh_size &&
	       sh.sh_size <= IMAGE_MAX_NAMES && sh.sh_offset <= UINT64_MAX - sh.sh_size &&
	       image_read(im, sh.sh_offset + sh.sh_size - 1, &last, 1) && !last;
}

static bool sections_sane(const struct image *im, const Elf64_Ehdr *eh, uint64_t *ret_n)
{
	Elf64_Shdr first;

	*ret_n = 0;
	if (!eh->e_shoff)
		return true;
	if (eh->e_shentsize != sizeof(Elf64_Shdr) || eh->e_shoff > im->size)
		return false;
	*ret_n = eh->e_shnum;
	if (!*ret_n && image_read(im, eh->e_shoff, &first, sizeof(first)))
		*ret_n = first.sh_size;
	return *ret_n <= IMAGE_MAX_SECTIONS && section_names_sane(im, eh, *ret_n);
}

/* libelf's memory for a section: its header, and an Elf_Scn with data and relocations. */
enum { SECTION_BYTES = 448 };

static bool take(struct image *im, uint64_t bytes)
{
	if (!budget_take(im->budget, bytes))
		return false;
	im->held += bytes;
	return true;
}

static int check_header(struct image *im)
{
	Elf64_Ehdr eh;
	uint64_t sections;

	if (!image_read(im, 0, &eh, sizeof(eh)) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB ||
	    eh.e_machine != arch_host()->elf_machine || (eh.e_type != ET_EXEC && eh.e_type != ET_DYN) ||
	    eh.e_phnum > IMAGE_MAX_SEGMENTS || !sections_sane(im, &eh, &sections))
		return -ENOEXEC;
	return take(im, sections * SECTION_BYTES + eh.e_phnum * sizeof(Elf64_Phdr)) ? 0 : -E2BIG;
}

static int image_start(struct image *im)
{
	int r = check_header(im);

	elf_version(EV_CURRENT);
	if (r == 0)
		im->elf = im->fd >= 0 ? elf_begin(im->fd, ELF_C_READ, NULL) : elf_memory((char *)im->bytes, im->size);
	if (im->elf && elf_kind(im->elf) == ELF_K_ELF)
		return 0;
	image_close(im);
	return r < 0 ? r : -ENOEXEC;
}

int image_open_fd(struct image *im, int fd, struct budget *b)
{
	struct stat st;

	*im = (struct image){.fd = fd, .budget = b};
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		image_close(im);
		return -ENOEXEC;
	}
	im->size = (uint64_t)st.st_size;
	if (target_file_is_copy(fd) && !take(im, im->size)) {
		image_close(im);
		return -E2BIG;
	}
	return image_start(im);
}

int image_open_bytes(struct image *im, uint8_t *bytes, size_t len, struct budget *b)
{
	*im = (struct image){.fd = -1, .bytes = bytes, .size = len, .budget = b};
	return image_start(im);
}

void image_close(struct image *im)
{
	if (im->elf)
		elf_end(im->elf);
	if (im->fd >= 0)
		close(im->fd);
	free(im->bytes);
	budget_give(im->budget, im->held);
	*im = (struct image){.fd = -1};
}

const char *image_section_name(struct image *im, const Elf64_Shdr *sh)
{
	size_t strndx;

	if (elf_getshdrstrndx(im->elf, &strndx) < 0)
		return NULL;
	return elf_strptr(im->elf, strndx, sh->sh_name);
}

Elf_Scn *image_section(struct image *im, const char *name, Elf64_Shdr *ret)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(im->elf, scn))) {
		Elf64_Shdr *sh = elf64_getshdr(scn);
		const char *have = sh ? image_section_name(im, sh) : NULL;

		if (have && !strcmp(have, name)) {
			*ret = *sh;
			return scn;
		}
	}
	return NULL;
}

/* Only DWARF sections are ever compressed (dwarf_image.c), not the tables read here. */
static const Elf64_Shdr *plain_section(const struct image *im, Elf_Scn *scn, uint64_t max)
{
	const Elf64_Shdr *sh = elf64_getshdr(scn);

	return sh && sh->sh_type != SHT_NOBITS && !(sh->sh_flags & SHF_COMPRESSED) && sh->sh_size <= max &&
			       sh->sh_size <= im->size ?
		       sh :
		       NULL;
}

uint8_t *image_section_copy(struct image *im, Elf_Scn *scn, uint64_t max, size_t *ret_len)
{
	const Elf64_Shdr *sh = plain_section(im, scn, max);
	uint8_t *bytes;

	if (!sh || !sh->sh_size || !take(im, sh->sh_size))
		return NULL;
	bytes = malloc(sh->sh_size);
	if (bytes && image_read(im, sh->sh_offset, bytes, sh->sh_size)) {
		*ret_len = sh->sh_size;
		return bytes;
	}
	image_copy_done(im, bytes, sh->sh_size);
	return NULL;
}

void image_copy_done(struct image *im, uint8_t *bytes, size_t len)
{
	free(bytes);
	im->held -= len;
	budget_give(im->budget, len);
}

Elf_Data *image_section_data(struct image *im, Elf_Scn *scn, uint64_t max)
{
	const Elf64_Shdr *sh = plain_section(im, scn, max);
	Elf_Data *data;

	if (!sh || !take(im, im->fd >= 0 ? sh->sh_size : 0))
		return NULL;
	data = elf_rawdata(scn, NULL);
	return data && data->d_buf && data->d_size ? data : NULL;
}

/* Notes: elf(5), "Notes (Nhdr)". */
static size_t find_build_id(struct cursor c, uint8_t *dst, size_t max)
{
	while (cursor_left(&c) >= 12) {
		uint32_t namesz = cursor_u32(&c), descsz = cursor_u32(&c), type = cursor_u32(&c);
		const char *name = cursor_take(&c, ((uint64_t)namesz + 3) & ~UINT64_C(3));
		const uint8_t *desc = cursor_take(&c, ((uint64_t)descsz + 3) & ~UINT64_C(3));

		if (!name || !desc)
			return 0;
		if (type == NT_GNU_BUILD_ID && namesz == 4 && !memcmp(name, "GNU", 4) && descsz) {
			size_t n = descsz < max ? descsz : max;

			memcpy(dst, desc, n);
			return n;
		}
	}
	return 0;
}

static size_t build_id_at(const struct image *im, uint64_t off, uint64_t size, uint8_t *dst, size_t max)
{
	uint8_t notes[4096];

	size = size < sizeof(notes) ? size : sizeof(notes);
	if (!image_read(im, off, notes, size))
		return 0;
	return find_build_id(cursor_make(notes, size), dst, max);
}

size_t image_build_id(struct image *im, uint8_t *dst, size_t max)
{
	Elf64_Phdr *ph = elf64_getphdr(im->elf);
	Elf_Scn *scn = NULL;
	size_t n = 0, len = 0;

	if (ph && elf_getphdrnum(im->elf, &n) == 0)
		for (size_t i = 0; i < n && !len; i++)
			if (ph[i].p_type == PT_NOTE)
				len = build_id_at(im, ph[i].p_offset, ph[i].p_filesz, dst, max);
	/* The program headers of a separate debug file do not describe it, so use section headers. */
	while (!len && (scn = elf_nextscn(im->elf, scn))) {
		Elf64_Shdr *sh = elf64_getshdr(scn);

		if (sh && sh->sh_type == SHT_NOTE)
			len = build_id_at(im, sh->sh_offset, sh->sh_size, dst, max);
	}
	return len;
}

/* Only names that start before the last NUL of the table are terminated. */
static size_t terminated_len(const Elf_Data *strings)
{
	const char *last = memrchr(strings->d_buf, 0, strings->d_size);

	return last ? (size_t)(last - (const char *)strings->d_buf) + 1 : 0;
}

/* Names may overlap, within limits: `left` bytes are allowed for further names. NULL: too long, or too many bytes. */
static const char *name_at(const struct image_symbols *s, uint32_t at, uint64_t *left)
{
	size_t len;

	if (at >= s->names_len || !*left)
		return NULL;
	len = strnlen(s->names + at, IMAGE_MAX_SYMBOL_NAME);
	*left -= len < *left ? len : *left;
	return len < IMAGE_MAX_SYMBOL_NAME && *left ? s->names + at : NULL;
}

static Elf_Scn *section_of_type(struct image *im, uint32_t sh_type, Elf64_Shdr *ret)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(im->elf, scn))) {
		Elf64_Shdr *sh = elf64_getshdr(scn);

		if (sh && sh->sh_type == sh_type) {
			*ret = *sh;
			return scn;
		}
	}
	return NULL;
}

static int read_symbols(struct image *im, uint32_t sh_type, struct image_symbols *ret)
{
	Elf64_Shdr sh;
	Elf_Scn *scn = section_of_type(im, sh_type, &sh), *str_scn;
	Elf_Data *table, *strings;

	if (!scn)
		return -ENOENT;
	table = image_section_data(im, scn, IMAGE_MAX_SYMBOLS * sizeof(Elf64_Sym));
	str_scn = elf_getscn(im->elf, sh.sh_link);
	strings = table && str_scn ? image_section_data(im, str_scn, IMAGE_MAX_TABLE) : NULL;
	if (!table || !strings)
		return -E2BIG;
	*ret = (struct image_symbols){table->d_buf, table->d_size / sizeof(Elf64_Sym), strings->d_buf,
				      terminated_len(strings), strings->d_size};
	return 0;
}

int image_symbols(struct image *im, uint32_t sh_type, struct image_symbols *ret)
{
	struct image_symbols *known = sh_type == SHT_SYMTAB ? &im->full : &im->dynamic;
	int r = known->n ? 0 : read_symbols(im, sh_type, known);

	*ret = *known;
	return r;
}

static bool is_in_range(const Elf64_Sym *sym, const struct image_range *r)
{
	return sym->st_value >= r->from && sym->st_value <= r->to && (r->any || r->to - sym->st_value < sym->st_size);
}

int image_each_symbol_in(struct image *im, const struct image_symbols *s, const struct image_range *range,
			 image_wanted_fn *wanted, image_symbol_fn *fn, void *ctx)
{
	uint64_t left = NAMES_LEAST + NAMES_FACTOR * s->names_size;

	for (size_t i = 1; i < s->n; i++) {
		Elf64_Sym sym;
		const char *name;

		if (i % POLL_EVERY == 0 && budget_poll(im->budget))
			return -E2BIG;
		memcpy(&sym, s->table + i * sizeof(sym), sizeof(sym));
		if (!is_in_range(&sym, range) || sym.st_shndx == SHN_UNDEF || !wanted(ctx, &sym) ||
		    !(name = name_at(s, sym.st_name, &left)))
			continue;
		if (budget_poll(im->budget) || !fn(ctx, &sym, name))
			return -E2BIG;
	}
	return left ? 0 : -E2BIG;
}

int image_each_symbol(struct image *im, const struct image_symbols *s, image_wanted_fn *wanted, image_symbol_fn *fn,
		      void *ctx)
{
	return image_each_symbol_in(im, s, &(struct image_range){0, UINT64_MAX, true}, wanted, fn, ctx);
}

size_t image_symbol_count(struct image *im, uint32_t sh_type)
{
	Elf64_Shdr sh;
	uint64_t n = section_of_type(im, sh_type, &sh) ? sh.sh_size / sizeof(Elf64_Sym) : 0;

	return n < IMAGE_MAX_SYMBOLS ? n : IMAGE_MAX_SYMBOLS;
}
