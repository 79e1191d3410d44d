#include <dwarf.h>
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

static bool set_alt(struct dso *d, Dwarf *dw)
{
	const char *name;
	const void *id;
	ssize_t len = dwelf_dwarf_gnu_debugaltlink(dw, &name, &id);

	if (len == 0)
		return true;
	if (len < 0 || dso_open_alt(d, name, id, (size_t)len, &d->alt_image) < 0)
		return false;
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

/* Scopes that physically hold vaddr, innermost first. (dwarf_getscopes() goes on with where an
 * inlined function was written, not with where it was inlined.) */
static int physical_scopes(Dwarf_Die *unit, uint64_t vaddr, Dwarf_Die **ret)
{
	Dwarf_Die *scopes = NULL, innermost;

	if (dwarf_getscopes(unit, vaddr, &scopes) <= 0)
		return 0;
	innermost = scopes[0];
	free(scopes);
	return dwarf_getscopes_die(&innermost, ret);
}

/* From the innermost scope outwards: a function's position is where the next inner one was called. */
static size_t fill_scopes(Dwarf_Die *unit, Dwarf_Die *scopes, int n_scopes, struct dso_line at,
			  struct dso_line *ret, size_t max)
{
	size_t n = 0;
	int i;

	for (i = 0; i < n_scopes && n < max; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		at.function = linkage_or_name(&scopes[i]);
		ret[n++] = at;
		if (tag == DW_TAG_subprogram)
			break;
		call_site(unit, &scopes[i], &at);
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
	Dwarf_Die unit, *scopes = NULL;
	Dwarf_Line *line;
	size_t n = 0;
	int n_scopes;

	if (!max || !find_unit(dw, vaddr, &unit))
		return 0;
	line = dwarf_getsrc_die(&unit, vaddr);
	if (line) {
		at.file = dwarf_linesrc(line, NULL, NULL);
		dwarf_lineno(line, &at.line);
	}
	if (!is_split(&unit)) {
		n_scopes = physical_scopes(&unit, vaddr, &scopes);
		n = fill_scopes(&unit, scopes, n_scopes, at, ret, max);
		free(scopes);
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
