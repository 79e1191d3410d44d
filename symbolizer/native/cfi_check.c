#include "symbolizer/native/cfi_check.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/cursor.h"
#include "symbolizer/native/dso_priv.h"

/*
 * Checks .eh_frame before libdw reads it. One entry can make libdw allocate 400 times its length (each
 * DW_CFA_remember_state copies all rules), and the table of .eh_frame_hdr may point anywhere. So entries must not be
 * unusually long, and every reference to an entry must point to the start of one. The largest entry in 3,000 libraries
 * and programs of Debian and in five JDKs is 6 KB.
 */
enum {
	ENTRY_MAX = 64 << 10,
	FDE_BYTES = 112, /* libdw's, if there is no search table: a struct, a tree node, two malloc() headers */
	HDR_TABLE = 12, /* version, three encodings, address, count */
};

struct frame {
	const uint8_t *data;
	size_t len;
	uint8_t *starts; /* bit i: an entry starts at byte i */
	size_t n;
};

static bool starts_at(const struct frame *f, uint64_t off)
{
	return off < f->len && f->starts[off / 8] >> (off % 8) & 1;
}

/* Reads the entry at *off and moves *off past it. false: malformed. The format: LSB Core, "Exception Frames". */
static bool walk_entry(struct frame *f, uint64_t *off)
{
	struct cursor c = cursor_make(f->data + *off, f->len - *off);
	uint64_t len = cursor_u32(&c), id_at, id;
	bool wide = len == UINT32_MAX;

	if (wide)
		len = cursor_u64(&c);
	if (!len && !c.bad) { /* a terminator; there may be several */
		*off += 4;
		return true;
	}
	id_at = (uint64_t)(c.p - f->data);
	id = wide ? cursor_u64(&c) : cursor_u32(&c);
	if (c.bad || len > ENTRY_MAX || len > f->len - id_at || (id && (id > id_at || !starts_at(f, id_at - id))))
		return false;
	f->starts[*off / 8] |= (uint8_t)(1 << *off % 8);
	f->n++;
	*off = id_at + len;
	return true;
}

static bool walk(struct frame *f, struct budget *b)
{
	uint64_t off = 0;

	while (f->len - off >= 4)
		if (budget_poll(b) || !walk_entry(f, &off))
			return false;
	return true;
}

/* The only format that ld, gold, lld and mold write: pairs of 32-bit numbers, relative to the section. */
static bool table_points_to_entries(const struct frame *f, const struct cfi_place *frame, const Elf_Data *hdr,
				    uint64_t hdr_addr, bool *ret_used)
{
	struct cursor c = cursor_make(hdr->d_buf, hdr->d_size);
	uint8_t version = cursor_u8(&c), ptr = cursor_u8(&c), count = cursor_u8(&c), table = cursor_u8(&c);
	uint64_t frame_addr = hdr_addr + 4 + (uint64_t)(int64_t)cursor_i32(&c);
	uint32_t n = cursor_u32(&c);

	*ret_used = false;
	if (c.bad || version != 1)
		return true; /* libdw then ignores the whole table */
	if (count == DW_EH_PE_omit || table == DW_EH_PE_omit)
		return true;
	if (ptr != (DW_EH_PE_pcrel | DW_EH_PE_sdata4) || count != DW_EH_PE_udata4 ||
	    table != (DW_EH_PE_datarel | DW_EH_PE_sdata4) || n > cursor_left(&c) / 8)
		return false;
	*ret_used = n && frame_addr == frame->addr;
	for (uint32_t i = 0; i < n; i++) {
		cursor_u32(&c);
		if (!starts_at(f, hdr_addr + (uint64_t)(int64_t)cursor_i32(&c) - frame->addr))
			return false;
	}
	return true;
}

static int check(struct dso *d, const struct cfi_place *frame, const struct cfi_place *hdr)
{
	struct image *im = &d->main;
	Elf_Data *data = image_section_data(im, frame->scn, IMAGE_MAX_TABLE);
	Elf_Data *table = hdr->scn && data ? image_section_data(im, hdr->scn, IMAGE_MAX_TABLE) : NULL;
	struct frame f = {0};
	bool used = false, sane;

	if (!data || (hdr->scn && !table))
		return -E2BIG;
	f = (struct frame){data->d_buf, data->d_size, calloc(1, data->d_size / 8 + 1), 0};
	sane = f.starts && walk(&f, d->budget) &&
	       (!table || table_points_to_entries(&f, frame, table, hdr->addr, &used));
	free(f.starts);
	if (!sane)
		return budget_expired(d->budget) ? -ETIME : -EINVAL;
	return used || dso_take(d, (uint64_t)f.n * FDE_BYTES) ? 0 : -E2BIG;
}

/* The sections that dwarf_getcfi_elf() uses: the first .eh_frame, and the last .eh_frame_hdr before it. */
static void find_places(struct image *im, struct cfi_place *frame, struct cfi_place *hdr)
{
	Elf_Scn *scn = NULL;

	while (!frame->scn && (scn = elf_nextscn(im->elf, scn))) {
		Elf64_Shdr *sh = elf64_getshdr(scn);
		const char *name = sh ? image_section_name(im, sh) : NULL;

		if (name && !strcmp(name, ".eh_frame_hdr"))
			*hdr = (struct cfi_place){scn, sh->sh_addr, sh->sh_size};
		else if (name && !strcmp(name, ".eh_frame"))
			*frame = (struct cfi_place){scn, sh->sh_addr, sh->sh_size};
	}
}

Dwarf_CFI *cfi_open_checked(struct dso *d)
{
	struct cfi_place frame = {0}, hdr = {0};
	int r;

	find_places(&d->main, &frame, &hdr);
	/* Without a section of that name, libdw would read the whole file. */
	if (!frame.scn || elf64_getshdr(frame.scn)->sh_type == SHT_NOBITS)
		return NULL;
	r = check(d, &frame, &hdr);
	if (r == 0)
		return dwarf_getcfi_elf(d->main.elf);
	dso_refuse(d, frame.size,
		   r == -EINVAL ? "malformed unwind information" :
		   r == -ETIME  ? "unwind information, for lack of time," :
				  "unwind information");
	return NULL;
}
