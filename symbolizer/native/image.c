#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/base/cursor.h"
#include "symbolizer/native/dso_priv.h"

/*
 * ELF images through libelf. ELF_C_READ, never one of the MMAP commands: the target owns the file
 * and may truncate it, and then a mapping would kill us with SIGBUS.
 */

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

/* libelf allocates for every section that the header claims; 0 in e_shnum: see section 0. */
static bool section_count_sane(const struct image *im, const Elf64_Ehdr *eh)
{
	Elf64_Shdr first;
	uint64_t n = eh->e_shnum;

	if (!eh->e_shoff)
		return true;
	if (!n && image_read(im, eh->e_shoff, &first, sizeof(first)))
		n = first.sh_size;
	return n <= IMAGE_MAX_SECTIONS;
}

static bool header_is_ours(const struct image *im)
{
	Elf64_Ehdr eh;

	return image_read(im, 0, &eh, sizeof(eh)) && !memcmp(eh.e_ident, ELFMAG, SELFMAG) &&
	       eh.e_ident[EI_CLASS] == ELFCLASS64 && eh.e_ident[EI_DATA] == ELFDATA2LSB &&
	       eh.e_machine == EM_X86_64 && (eh.e_type == ET_EXEC || eh.e_type == ET_DYN) &&
	       section_count_sane(im, &eh);
}

static int image_start(struct image *im)
{
	elf_version(EV_CURRENT);
	if (header_is_ours(im))
		im->elf = im->fd >= 0 ? elf_begin(im->fd, ELF_C_READ, NULL) :
					elf_memory((char *)im->bytes, im->size);
	if (im->elf && elf_kind(im->elf) == ELF_K_ELF)
		return 0;
	image_close(im);
	return -ENOEXEC;
}

int image_open_fd(struct image *im, int fd)
{
	struct stat st;

	*im = (struct image){.fd = fd};
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		image_close(im);
		return -ENOEXEC;
	}
	im->size = (uint64_t)st.st_size;
	return image_start(im);
}

int image_open_bytes(struct image *im, uint8_t *bytes, size_t len)
{
	*im = (struct image){.fd = -1, .bytes = bytes, .size = len};
	return image_start(im);
}

void image_close(struct image *im)
{
	if (im->elf)
		elf_end(im->elf);
	if (im->fd >= 0)
		close(im->fd);
	free(im->bytes);
	*im = (struct image){.fd = -1};
}

static const char *section_name(Elf *elf, const Elf64_Shdr *sh)
{
	size_t strndx;

	if (elf_getshdrstrndx(elf, &strndx) < 0)
		return NULL;
	return elf_strptr(elf, strndx, sh->sh_name);
}

Elf_Scn *image_section(struct image *im, const char *name, Elf64_Shdr *ret)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(im->elf, scn))) {
		Elf64_Shdr *sh = elf64_getshdr(scn);
		const char *have = sh ? section_name(im->elf, sh) : NULL;

		if (have && !strcmp(have, name)) {
			*ret = *sh;
			return scn;
		}
	}
	return NULL;
}

static uint64_t section_size(Elf_Scn *scn, const Elf64_Shdr *sh)
{
	Elf64_Chdr *ch;

	if (!(sh->sh_flags & SHF_COMPRESSED))
		return sh->sh_size;
	ch = elf64_getchdr(scn);
	return ch ? ch->ch_size : sh->sh_size;
}

Elf_Data *image_section_data(Elf_Scn *scn, uint64_t max)
{
	Elf64_Shdr *sh = elf64_getshdr(scn);
	Elf_Data *data;

	if (!sh || sh->sh_type == SHT_NOBITS || sh->sh_size > max || section_size(scn, sh) > max)
		return NULL;
	if ((sh->sh_flags & SHF_COMPRESSED) && elf_compress(scn, 0, 0) < 0)
		return NULL;
	data = elf_getdata(scn, NULL);
	return data && data->d_buf && data->d_size ? data : NULL;
}

uint64_t image_sections_size(struct image *im, const char *prefix)
{
	Elf_Scn *scn = NULL;
	uint64_t sum = 0;

	while ((scn = elf_nextscn(im->elf, scn))) {
		Elf64_Shdr *sh = elf64_getshdr(scn);
		const char *name = sh ? section_name(im->elf, sh) : NULL;
		uint64_t size;

		if (!name || sh->sh_type == SHT_NOBITS || strncmp(name, prefix, strlen(prefix)))
			continue;
		size = section_size(scn, sh);
		sum = size > UINT64_MAX - sum ? UINT64_MAX : sum + size;
	}
	return sum;
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

static size_t build_id_at(const struct image *im, uint64_t off, uint64_t size, uint8_t *dst,
			  size_t max)
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
	size_t n = 0, i, len = 0;

	if (ph && elf_getphdrnum(im->elf, &n) == 0)
		for (i = 0; i < n && !len; i++)
			if (ph[i].p_type == PT_NOTE)
				len = build_id_at(im, ph[i].p_offset, ph[i].p_filesz, dst, max);
	/* The program headers of a separate debug file do not describe it. */
	while (!len && (scn = elf_nextscn(im->elf, scn))) {
		Elf64_Shdr *sh = elf64_getshdr(scn);

		if (sh && sh->sh_type == SHT_NOTE)
			len = build_id_at(im, sh->sh_offset, sh->sh_size, dst, max);
	}
	return len;
}

/* Names up to the last NUL of the table are terminated. */
static size_t terminated_len(const Elf_Data *strings)
{
	const char *last = memrchr(strings->d_buf, 0, strings->d_size);

	return last ? (size_t)(last - (const char *)strings->d_buf) + 1 : 0;
}

static int each_symbol(Elf *elf, Elf_Scn *scn, uint32_t link, image_symbol_fn *fn, void *ctx)
{
	Elf_Data *table = image_section_data(scn, IMAGE_MAX_SYMBOLS * sizeof(Elf64_Sym));
	Elf_Scn *str_scn = elf_getscn(elf, link);
	Elf_Data *strings = str_scn ? image_section_data(str_scn, IMAGE_MAX_TABLE) : NULL;
	size_t i, n, names;

	if (!table || !strings)
		return -ENOENT;
	n = table->d_size / sizeof(Elf64_Sym);
	names = terminated_len(strings);
	for (i = 1; i < n; i++) {
		Elf64_Sym sym;

		memcpy(&sym, (const char *)table->d_buf + i * sizeof(sym), sizeof(sym));
		if (sym.st_name < names && sym.st_shndx != SHN_UNDEF &&
		    !fn(ctx, &sym, (const char *)strings->d_buf + sym.st_name))
			return -ENOMEM;
	}
	return 0;
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

int image_each_symbol(struct image *im, uint32_t sh_type, image_symbol_fn *fn, void *ctx)
{
	Elf64_Shdr sh;
	Elf_Scn *scn = section_of_type(im, sh_type, &sh);

	return scn ? each_symbol(im->elf, scn, sh.sh_link, fn, ctx) : -ENOENT;
}

size_t image_symbol_count(struct image *im, uint32_t sh_type)
{
	Elf64_Shdr sh;
	uint64_t n = section_of_type(im, sh_type, &sh) ? sh.sh_size / sizeof(Elf64_Sym) : 0;

	return n < IMAGE_MAX_SYMBOLS ? n : IMAGE_MAX_SYMBOLS;
}
