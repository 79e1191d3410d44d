#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdwelf.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/native/dso_priv.h"

/*
 * Source positions through libdw. Two things that libdw would do on its own are kept from it,
 * because it would open paths that the file names, in our root: the file of common DWARF that
 * dwz(1) makes (opened here, or such DWARF is not used) and split DWARF (.dwo; units of that kind
 * give file and line of the innermost frame only).
 */

/* libdw 0.188 takes it on trust that tables of strings end in a NUL, and reads on where one does
 * not. The bytes are our copy of the file. */
static void terminate_strings(struct image *im)
{
	static const char *const name[] = {".debug_str", ".debug_line_str"};
	size_t i;

	for (i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		Elf64_Shdr sh;
		Elf_Scn *scn = image_section(im, name[i], &sh);
		Elf_Data *data;

		if (scn && (sh.sh_flags & SHF_COMPRESSED))
			elf_compress(scn, 0, 0);
		data = scn ? elf_rawdata(scn, NULL) : NULL;
		if (data && data->d_buf && data->d_size)
			((char *)data->d_buf)[data->d_size - 1] = 0;
	}
}

static bool set_alt(struct dso *d, Dwarf *dw)
{
	const char *name;
	const void *id;
	ssize_t len = dwelf_dwarf_gnu_debugaltlink(dw, &name, &id);

	if (len == 0)
		return true;
	if (len < 0 || dso_open_alt(d, name, id, (size_t)len, &d->alt_image) < 0)
		return false;
	terminate_strings(&d->alt_image);
	if (image_sections_size(&d->alt_image, ".debug_") <= IMAGE_MAX_DEBUG)
		d->alt = dwarf_begin_elf(d->alt_image.elf, DWARF_C_READ, NULL);
	if (d->alt)
		dwarf_setalt(dw, d->alt);
	return d->alt != NULL;
}

static Dwarf *open_dwarf(struct dso *d, struct image *im)
{
	Elf64_Shdr sh;
	Dwarf *dw;

	if (!im || !im->elf || (!image_section(im, ".debug_info", &sh) &&
				!image_section(im, ".zdebug_info", &sh)))
		return NULL;
	if (image_sections_size(im, ".debug_") > IMAGE_MAX_DEBUG)
		return NULL;
	terminate_strings(im);
	dw = dwarf_begin_elf(im->elf, DWARF_C_READ, NULL);
	if (dw && !set_alt(d, dw)) {
		dwarf_end(dw);
		dw = NULL;
	}
	return dw;
}

static Dwarf *dso_dwarf(struct dso *d)
{
	if (!d->dwarf_tried && !d->recorded) {
		d->dwarf_tried = true;
		d->dwarf = open_dwarf(d, &d->main);
		if (!d->dwarf)
			d->dwarf = open_dwarf(d, dso_debug_image(d));
	}
	return d->dwarf;
}

/* Not every compiler writes .debug_aranges: then unit by unit. */
static bool find_unit(Dwarf *dw, uint64_t vaddr, Dwarf_Die *ret)
{
	Dwarf_Off off = 0, next;
	size_t header;

	if (dwarf_addrdie(dw, vaddr, ret))
		return true;
	while (dwarf_nextcu(dw, off, &next, &header, NULL, NULL, NULL) == 0) {
		if (dwarf_offdie(dw, off + header, ret) && dwarf_haspc(ret, vaddr) > 0)
			return true;
		if (next <= off)
			break;
		off = next;
	}
	return false;
}

static const char *linkage_or_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	return name ? name : dwarf_diename(die);
}

static const char *file_by_index(Dwarf_Die *unit, Dwarf_Word index)
{
	Dwarf_Files *files;
	size_t n;

	if (dwarf_getsrcfiles(unit, &files, &n) < 0 || index >= n)
		return NULL;
	return dwarf_filesrc(files, index, NULL, NULL);
}

static void call_site(Dwarf_Die *unit, Dwarf_Die *inlined, struct dso_line *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	ret->file = NULL;
	ret->line = 0;
	if (dwarf_attr(inlined, DW_AT_call_file, &attr) && dwarf_formudata(&attr, &v) == 0)
		ret->file = file_by_index(unit, v);
	if (dwarf_attr(inlined, DW_AT_call_line, &attr) && dwarf_formudata(&attr, &v) == 0)
		ret->line = v <= INT32_MAX ? (int)v : 0;
}

/*
 * The functions, inlined functions and blocks that hold vaddr, outermost first. Not
 * dwarf_getscopes(): that goes on with where an inlined function was written instead of with where
 * it was inlined, and neither stops on damaged trees nor frees what it has when it fails.
 */
enum { DEPTH_MAX = 64, VISITS_MAX = 500000 };

struct scope_walk {
	uint64_t vaddr;
	Dwarf_Die found[DEPTH_MAX];
	size_t n;
	unsigned visits, depth;
};

static bool walk_children(struct scope_walk *w, Dwarf_Die *parent);

/* true: the walk is over. */
static bool walk_die(struct scope_walk *w, Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
	case DW_TAG_module: return walk_children(w, die);
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		if (w->n >= DEPTH_MAX || dwarf_haspc(die, w->vaddr) <= 0)
			return false;
		w->found[w->n++] = *die;
		walk_children(w, die);
		return true;
	default: return false;
	}
}

static bool walk_children(struct scope_walk *w, Dwarf_Die *parent)
{
	Dwarf_Die die;
	bool over = false;

	if (w->depth >= DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return false;
	w->depth++;
	do {
		if (w->visits++ >= VISITS_MAX)
			break;
		over = walk_die(w, &die);
	} while (!over && dwarf_siblingof(&die, &die) == 0);
	w->depth--;
	return over;
}

/* From the innermost scope outwards: a function's position is where the next inner one was called. */
static size_t fill_scopes(Dwarf_Die *unit, struct scope_walk *w, struct dso_line at,
			  struct dso_line *ret, size_t max)
{
	size_t n = 0, i;

	for (i = w->n; i-- > 0 && n < max;) {
		int tag = dwarf_tag(&w->found[i]);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		at.function = linkage_or_name(&w->found[i]);
		ret[n++] = at;
		if (tag == DW_TAG_subprogram)
			break;
		call_site(unit, &w->found[i], &at);
	}
	return n;
}

static bool is_split(Dwarf_Die *unit)
{
	Dwarf_Attribute attr;

	return dwarf_attr(unit, DW_AT_GNU_dwo_name, &attr) || dwarf_attr(unit, DW_AT_dwo_name, &attr);
}

static size_t read_lines(Dwarf *dw, uint64_t vaddr, struct dso_line *ret, size_t max)
{
	struct dso_line at = {NULL, NULL, 0};
	struct scope_walk w;
	Dwarf_Die unit;
	Dwarf_Line *line;
	size_t n = 0;

	if (!max || !find_unit(dw, vaddr, &unit))
		return 0;
	line = dwarf_getsrc_die(&unit, vaddr);
	if (line) {
		at.file = dwarf_linesrc(line, NULL, NULL);
		dwarf_lineno(line, &at.line);
	}
	if (!is_split(&unit)) {
		w.vaddr = vaddr;
		w.n = w.visits = w.depth = 0;
		walk_children(&w, &unit);
		n = fill_scopes(&unit, &w, at, ret, max);
	}
	if (!n && at.file)
		ret[n++] = at;
	return n;
}

static size_t recorded_lines(const struct dso *d, uint64_t vaddr, struct dso_line *ret, size_t max)
{
	size_t i, n = 0;

	for (i = 0; i < d->recorded_lines.n && n < max; i++)
		if (d->recorded_lines.v[i].vaddr == vaddr)
			ret[n++] = d->recorded_lines.v[i].line;
	return n;
}

size_t dso_find_lines(struct dso *d, uint64_t vaddr, struct dso_line *ret, size_t max)
{
	Dwarf *dw = dso_dwarf(d);
	size_t n = d->recorded ? recorded_lines(d, vaddr, ret, max) :
		   dw	       ? read_lines(dw, vaddr, ret, max) :
				 0;

	if (n && d->tap && d->tap->lines)
		d->tap->lines(d->tap->ctx, d, vaddr, ret, n);
	return n;
}
