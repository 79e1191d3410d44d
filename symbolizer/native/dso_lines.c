#include "symbolizer/native/dso_lines.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbolizer/base/sorted.h"
#include "symbolizer/native/dso_priv.h"
#include "symbolizer/native/dwarf_image.h"
#include "symbolizer/native/lines_child.h"

/*
 * Source positions through libdw. libdw must not open paths that the file names, since it would do so in jsampler's
 * root. This concerns the file of common DWARF that dwz(1) makes (opened here; if that fails, the DWARF is not used)
 * and split DWARF (.dwo; such units give only file and line of the innermost frame).
 */

struct unit_range {
	uint64_t start, end;
	uint64_t reach; /* highest end up to this one */
	Dwarf_Off die;
};

struct lines {
	struct budget *budget;
	struct dwarf_image image, alt_image;
	struct image alt_file;
	Dwarf *dw, *alt;
	VEC(struct unit_range) units; /* by start */
	bool answers_are_copied; /* by the caller, so libdw's memory may be freed at the next look-up */
	size_t heap; /* bytes in use before libdw was called */
	bool no_memory; /* libdw ran out of memory */
};

/* UNIT_BYTES: libdw's memory for a unit: Dwarf_CU, a tree node, a table of abbreviations. */
enum { UNIT_BYTES = 1024, STEPS_MAX = 64, CACHE_MAX = 40 << 20, HEAP_MAX = 128 << 20 };

/* Replaces libdw's handler, which aborts with a message. */
static _Noreturn void out_of_memory(void)
{
	_exit(LINES_NO_MEMORY);
}

static Dwarf *begin(struct dwarf_image *di)
{
	Dwarf *dw = dwarf_begin_elf(di->elf, DWARF_C_READ, NULL);

	if (dw)
		dwarf_new_oom_handler(dw, out_of_memory);
	return dw;
}

static size_t heap_in_use(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* libdw keeps the line table of each unit that was looked up, which would be 400 MB for all of libjvm.so. */
static bool drop_caches(struct lines *l)
{
	if (!l->answers_are_copied || heap_in_use() < l->heap + CACHE_MAX)
		return true;
	dwarf_end(l->dw);
	l->dw = begin(&l->image);
	if (l->alt) {
		dwarf_end(l->alt);
		l->alt = begin(&l->alt_image);
	}
	if (!l->dw || (l->alt_image.elf && !l->alt))
		return false;
	if (l->alt)
		dwarf_setalt(l->dw, l->alt);
	return true;
}

static int open_alt(struct dso *d, struct lines *l, bool map, uint64_t *bytes)
{
	const char *name;
	const void *id;
	ssize_t len = dwelf_dwarf_gnu_debugaltlink(l->dw, &name, &id);
	int r;

	if (len == 0)
		return 0;
	if (len < 0 || dso_open_alt(d, name, id, (size_t)len, &l->alt_file) < 0)
		return -ENOENT;
	r = dwarf_image_open(&l->alt_file, d->budget, DWARF_LINES, map, &l->alt_image, bytes);
	if (r < 0)
		return r;
	l->alt = begin(&l->alt_image);
	if (!l->alt)
		return -EINVAL;
	dwarf_setalt(l->dw, l->alt);
	return 0;
}

static int range_cmp(const void *pa, const void *pb)
{
	const struct unit_range *a = pa, *b = pb;

	return ascending(a->start, b->start);
}

/* false: out of memory or budget. */
static bool add_unit(struct lines *l, Dwarf_Off die_offset)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	Dwarf_Die die;

	if (!budget_take(l->budget, UNIT_BYTES))
		return false;
	if (!dwarf_offdie(l->dw, die_offset, &die))
		return true;
	while ((at = dwarf_ranges(&die, at, &base, &start, &end)) > 0) {
		struct unit_range r = {start, end, 0, die_offset};

		if (budget_poll(l->budget) || !budget_take(l->budget, sizeof(r)))
			return false;
		if (start < end && !vec_push(&l->units, r))
			return false;
	}
	return true;
}

/* .debug_aranges has the same data as a table, but not every compiler writes it, and this is as fast. */
static int index_units(struct lines *l)
{
	Dwarf_Off off = 0, next;
	size_t header;

	for (; dwarf_nextcu(l->dw, off, &next, &header, NULL, NULL, NULL) == 0 && next > off; off = next) {
		if (budget_expired(l->budget))
			return -ETIME;
		if (!add_unit(l, off + header))
			return budget_expired(l->budget) ? -ETIME : -E2BIG;
	}
	if (l->units.n)
		qsort(l->units.v, l->units.n, sizeof(*l->units.v), range_cmp);
	set_reach(l->units.v, l->units.n);
	return 0;
}

void lines_close(struct lines *l)
{
	if (!l)
		return;
	if (l->dw)
		dwarf_end(l->dw);
	if (l->alt)
		dwarf_end(l->alt);
	vec_done(&l->units);
	dwarf_image_close(&l->image);
	dwarf_image_close(&l->alt_image);
	image_close(&l->alt_file);
	free(l);
}

static int open_in(struct dso *d, struct image *im, bool map, struct lines **ret, uint64_t *bytes)
{
	struct lines *l = calloc(1, sizeof(*l));
	int r = -ENOMEM;

	*bytes = 0;
	if (l) {
		l->budget = d->budget;
		l->alt_file.fd = -1;
		l->answers_are_copied = map;
		l->heap = heap_in_use();
		r = dwarf_image_open(im, d->budget, DWARF_LINES, map, &l->image, bytes);
	}
	if (r == 0)
		r = (l->dw = begin(&l->image)) ? 0 : -EINVAL;
	if (r == 0)
		r = open_alt(d, l, map, bytes);
	if (r == 0)
		r = index_units(l);
	if (r == 0)
		*ret = l;
	else
		lines_close(l);
	return r;
}

static void say_why(struct dso *d, int r, uint64_t bytes)
{
	if (r == -E2BIG || r == -ENOMEM)
		dso_refuse(d, bytes, "source lines");
	else if (r == -ETIME)
		dso_refuse(d, bytes, "source lines, for lack of time,");
}

bool lines_may_be_in(struct dso *d)
{
	Elf64_Shdr sh;

	if (!d->main.elf)
		return false;
	return image_section(&d->main, ".debug_info", &sh) || image_section(&d->main, ".zdebug_info", &sh) ||
	       dso_debug_image(d);
}

int lines_open(struct dso *d, bool map, struct lines **ret)
{
	uint64_t bytes;
	int r = d->main.elf ? open_in(d, &d->main, map, ret, &bytes) : -ENOENT;

	if (r == -ENOENT && dso_debug_image(d))
		r = open_in(d, &d->debug, map, ret, &bytes);
	say_why(d, r, bytes);
	return r;
}

static bool find_unit(const struct lines *l, uint64_t vaddr, Dwarf_Die *ret)
{
	size_t i = first_above(l->units.v, l->units.n, start, vaddr);
	unsigned steps = 0;

	while (i-- > 0 && l->units.v[i].reach > vaddr && steps++ < STEPS_MAX)
		if (l->units.v[i].end > vaddr)
			return dwarf_offdie(l->dw, l->units.v[i].die, ret) != NULL;
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
 * Finds the functions, inlined functions and blocks around vaddr, outermost first. dwarf_getscopes() cannot be used: it
 * continues where an inlined function was defined rather than where it was inlined, does not terminate on damaged
 * trees, and leaks memory when it fails.
 */
enum { DEPTH_MAX = 64, VISITS_MAX = 500000 };

struct scope_walk {
	uint64_t vaddr;
	Dwarf_Die found[DEPTH_MAX];
	size_t n;
	unsigned visits, depth;
	struct budget *budget;
};

static bool walk_children(struct scope_walk *w, Dwarf_Die *parent);

/* true: the walk is finished. */
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
		if (w->visits++ >= VISITS_MAX || budget_poll(w->budget))
			break;
		over = walk_die(w, &die);
	} while (!over && dwarf_siblingof(&die, &die) == 0);
	w->depth--;
	return over;
}

/* From the innermost scope outwards: the position in a function is where it calls the next inner one. */
static size_t fill_scopes(Dwarf_Die *unit, struct scope_walk *w, struct dso_line at, struct dso_line *ret, size_t max)
{
	size_t n = 0;

	for (size_t i = w->n; i-- > 0 && n < max;) {
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

size_t lines_find(struct lines *l, uint64_t vaddr, struct dso_line *ret, size_t max)
{
	struct dso_line at = {NULL, NULL, 0};
	struct scope_walk w;
	Dwarf_Die unit;
	Dwarf_Line *line;
	size_t n = 0;

	if (!max || !drop_caches(l) || !find_unit(l, vaddr, &unit))
		return 0;
	errno = 0;
	line = dwarf_getsrc_die(&unit, vaddr);
	l->no_memory |= !line && errno == ENOMEM;
	if (line) {
		at.file = dwarf_linesrc(line, NULL, NULL);
		dwarf_lineno(line, &at.line);
	}
	if (!is_split(&unit)) {
		w.vaddr = vaddr;
		w.n = w.visits = w.depth = 0;
		w.budget = l->budget;
		walk_children(&w, &unit);
		n = fill_scopes(&unit, &w, at, ret, max);
	}
	if (!n && at.file)
		ret[n++] = at;
	return n;
}

bool lines_too_large(const struct lines *l)
{
	return l->no_memory || heap_in_use() > l->heap + HEAP_MAX;
}

static size_t recorded_lines(const struct dso *d, uint64_t vaddr, struct dso_line *ret, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < d->recorded_lines.n && n < max; i++)
		if (d->recorded_lines.v[i].vaddr == vaddr)
			ret[n++] = d->recorded_lines.v[i].line;
	return n;
}

static size_t lines_here(struct dso *d, uint64_t vaddr, struct dso_line *ret, size_t max)
{
	size_t n;

	budget_begin(d->budget);
	if (!d->lines_tried) {
		d->lines_tried = true;
		lines_open(d, false, &d->lines);
	}
	n = d->lines && !budget_expired(d->budget) ? lines_find(d->lines, vaddr, ret, max) : 0;
	budget_end(d->budget);
	return n;
}

size_t dso_find_lines(struct dso *d, uint64_t vaddr, struct dso_line *ret, size_t max)
{
	size_t n = d->recorded    ? recorded_lines(d, vaddr, ret, max) :
		   d->lines_child ? lines_child_ask(d->lines_child, d, vaddr, ret, max) :
				    lines_here(d, vaddr, ret, max);

	if (n && d->tap && d->tap->lines)
		d->tap->lines(d->tap->ctx, d, vaddr, ret, n);
	return n;
}
