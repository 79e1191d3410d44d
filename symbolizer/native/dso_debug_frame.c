#include "symbolizer/native/dso_debug_frame.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/native/dso_priv.h"
#include "symbolizer/target/arch.h"

/*
 * Call frame information that is not loaded: with -fno-asynchronous-unwind-tables (DWARF 5, section 6.4.1), compilers
 * write it into the file or its debug file. libdw would read all debug sections of that file, so it gets a file in
 * memory with only this section.
 */
enum {
	FRAME_MAX = 16 << 20,
	ENTRIES_FACTOR = 6, /* libdw keeps some hundred bytes for each entry, which has at least 24 bytes */
	SECTIONS = 3,
};

struct debug_frame {
	uint8_t *bytes; /* the file in memory */
	Elf *elf;
	Dwarf *dwarf; /* owns cfi */
	Dwarf_CFI *cfi;
};

static const char names[] = "\0.debug_frame\0.shstrtab";
enum { NAME_FRAME = 1, NAME_NAMES = 14 };

/* Takes bytes of the budget for decompression, the file in memory, and libdw's entries, until the image is closed. */
static bool take(struct image *im, uint64_t bytes)
{
	uint64_t all = bytes * (1 + ENTRIES_FACTOR);

	if (bytes > FRAME_MAX || !budget_take(im->budget, all))
		return false;
	im->held += all;
	return true;
}

/* GNU's own compression from before SHF_COMPRESSED: "ZLIB" and the size, big-endian (objcopy's zlib-gnu). */
static Elf_Data *old_compressed(struct image *im, Elf_Scn *scn, const Elf64_Shdr *sh)
{
	Elf_Data *data = sh->sh_size <= FRAME_MAX ? elf_rawdata(scn, NULL) : NULL;
	const uint8_t *b = data ? data->d_buf : NULL;
	uint64_t size = 0;

	if (!b || data->d_size < 12 || memcmp(b, "ZLIB", 4))
		return NULL;
	for (unsigned i = 4; i < 12; i++)
		size = size << 8 | b[i];
	if (!take(im, size) || elf_compress_gnu(scn, 0, 0) < 0)
		return NULL;
	return elf_getdata(scn, NULL);
}

static Elf_Data *compressed(struct image *im, Elf_Scn *scn, const Elf64_Shdr *sh)
{
	Elf64_Chdr *head = sh->sh_size <= FRAME_MAX ? elf64_getchdr(scn) : NULL;

	if (!head || !take(im, head->ch_size) || elf_compress(scn, 0, 0) < 0)
		return NULL;
	return elf_getdata(scn, NULL);
}

static Elf_Data *frame_data(struct image *im)
{
	Elf64_Shdr sh;
	Elf_Scn *scn = image_section(im, ".debug_frame", &sh);

	if (scn && (sh.sh_flags & SHF_COMPRESSED))
		return compressed(im, scn, &sh);
	if (scn)
		return take(im, sh.sh_size) ? image_section_data(im, scn, FRAME_MAX) : NULL;
	scn = image_section(im, ".zdebug_frame", &sh);
	return scn && sh.sh_type != SHT_NOBITS ? old_compressed(im, scn, &sh) : NULL;
}

/* Writes the file in memory: header, the section, section names, section headers. */
static uint8_t *make_file(const Elf_Data *data, size_t *ret_len)
{
	size_t frame = sizeof(Elf64_Ehdr), strings = frame + data->d_size,
	       table = (strings + sizeof(names) + 7) / 8 * 8;
	/* clang-format off */
	Elf64_Shdr sh[SECTIONS] = {
		[1] = {.sh_name = NAME_FRAME, .sh_type = SHT_PROGBITS, .sh_offset = frame, .sh_size = data->d_size,
		       .sh_addralign = 1},
		[2] = {.sh_name = NAME_NAMES, .sh_type = SHT_STRTAB, .sh_offset = strings, .sh_size = sizeof(names),
		       .sh_addralign = 1},
	};
	/* clang-format on */
	Elf64_Ehdr eh = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = arch_host()->elf_machine,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(eh),
		.e_shoff = table,
		.e_shentsize = sizeof(sh[0]),
		.e_shnum = SECTIONS,
		.e_shstrndx = 2,
	};
	uint8_t *bytes = calloc(1, table + sizeof(sh));

	if (!bytes)
		return NULL;
	memcpy(bytes, &eh, sizeof(eh));
	memcpy(bytes + frame, data->d_buf, data->d_size);
	memcpy(bytes + strings, names, sizeof(names));
	memcpy(bytes + table, sh, sizeof(sh));
	*ret_len = table + sizeof(sh);
	return bytes;
}

void debug_frame_free(struct debug_frame *f)
{
	if (!f)
		return;
	if (f->dwarf)
		dwarf_end(f->dwarf);
	if (f->elf)
		elf_end(f->elf);
	free(f->bytes);
	free(f);
}

/* NULL: there is none. */
static struct debug_frame *frame_open(struct image *im)
{
	Elf_Data *data = im ? frame_data(im) : NULL;
	struct debug_frame *f = data && data->d_buf && data->d_size ? calloc(1, sizeof(*f)) : NULL;
	size_t len;

	if (!f)
		return NULL;
	f->bytes = data->d_size <= FRAME_MAX ? make_file(data, &len) : NULL;
	f->elf = f->bytes ? elf_memory((char *)f->bytes, len) : NULL;
	f->dwarf = f->elf ? dwarf_begin_elf(f->elf, DWARF_C_READ, NULL) : NULL;
	f->cfi = f->dwarf ? dwarf_getcfi(f->dwarf) : NULL;
	if (f->cfi)
		return f;
	debug_frame_free(f);
	return NULL;
}

Dwarf_CFI *dso_debug_frame(struct dso *d, unsigned i)
{
	if (d->recorded || i >= DEBUG_FRAMES)
		return NULL;
	if (!d->frames_tried[i]) {
		d->frames_tried[i] = true;
		d->frames[i] = frame_open(i ? dso_debug_image(d) : &d->main);
	}
	return d->frames[i] ? d->frames[i]->cfi : NULL;
}
