#include <elf.h>
#include <errno.h>
#include <string.h>

#include "symbolizer/native/dso_plt.h"
#include "symbolizer/native/dso_priv.h"

struct section_span {
	uint64_t start, end; /* empty: not code */
};

/*
 * Executable sections of one image. Functions are in them; functions without a size end at the end of their section at
 * the latest.
 */
struct code_sections {
	VEC(struct section_span) spans; /* by section index */
};

struct loader {
	struct dso *dso;
	struct symbol_table *table;
	struct code_sections code;
	uint64_t vaddr, start; /* of a scan: what is looked for, and where the innermost function around it begins */
};

static int load_code_sections(struct image *im, struct code_sections *ret)
{
	size_t n = 0;

	if (elf_getshdrnum(im->elf, &n) < 0)
		return -ENOENT;
	for (size_t i = 0; i < n; i++) {
		Elf_Scn *scn = elf_getscn(im->elf, i);
		Elf64_Shdr *sh = scn ? elf64_getshdr(scn) : NULL;
		struct section_span span = {0, 0};

		if (sh && (sh->sh_flags & SHF_EXECINSTR) && sh->sh_size <= UINT64_MAX - sh->sh_addr) {
			span.start = sh->sh_addr;
			span.end = sh->sh_addr + sh->sh_size;
		}
		if (!vec_push(&ret->spans, span))
			return -ENOMEM;
	}
	return 0;
}

static uint8_t symbol_rank(const Elf64_Sym *sym)
{
	uint8_t rank = 0;

	if (ELF64_ST_BIND(sym->st_info) != STB_LOCAL)
		rank |= SYMBOL_EXPORTED;
	if (ELF64_ST_TYPE(sym->st_info) != STT_NOTYPE)
		rank |= SYMBOL_FUNCTION;
	if (sym->st_size)
		rank |= SYMBOL_SIZED;
	return rank;
}

/* Functions, and assembler symbols without a type if they have a size or are global (others are labels). */
static bool symbol_is_code(const Elf64_Sym *sym)
{
	unsigned type = ELF64_ST_TYPE(sym->st_info);

	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	return type == STT_NOTYPE && (sym->st_size || ELF64_ST_BIND(sym->st_info) != STB_LOCAL);
}

/* "memcpy@@GLIBC_2.14" -> "memcpy" */
static const char *plain_name(struct dso *d, const char *name)
{
	const char *at = strchr(name, '@');

	if (!at || at == name)
		return name;
	return dso_take(d, (uint64_t)(at - name) + 32) ? arena_strndup(&d->arena, name, (size_t)(at - name)) : NULL;
}

/* Is it a function, or the like, in one of the sections with code? */
static bool is_in_code(void *ctx, const Elf64_Sym *sym)
{
	const struct loader *l = ctx;
	const struct section_span *span;

	if (!symbol_is_code(sym) || sym->st_shndx >= l->code.spans.n)
		return false;
	span = &l->code.spans.v[sym->st_shndx];
	return sym->st_value >= span->start && sym->st_value < span->end;
}

static bool add_symbol(void *ctx, const Elf64_Sym *sym, const char *name)
{
	struct loader *l = ctx;
	const struct section_span *span = &l->code.spans.v[sym->st_shndx];
	struct symbol s;

	if (!*name)
		return true;
	s.start = sym->st_value;
	s.end = sym->st_size && sym->st_size < span->end - s.start ? s.start + sym->st_size : span->end;
	s.rank = symbol_rank(sym);
	s.weak = ELF64_ST_BIND(sym->st_info) == STB_WEAK;
	s.name = plain_name(l->dso, name);
	return s.name && symbol_table_add(l->table, &s);
}

/*
 * Reads one symbol table of an image. If it does not fit, the budget gets a note. false: this image has no such table.
 */
static bool load_table(struct dso *d, struct image *im, uint32_t sh_type)
{
	size_t before = d->symbols.syms.n, count = im ? image_symbol_count(im, sh_type) : 0;
	uint64_t bytes = (uint64_t)count * SYMBOL_PEAK_BYTES;
	struct loader l = {.dso = d, .table = &d->symbols};
	struct image_symbols all;
	int r = -E2BIG;

	if (!count)
		return false;
	if (budget_take(d->budget, bytes)) {
		d->symbols.held += bytes;
		r = load_code_sections(im, &l.code);
		if (r == 0)
			r = image_symbols(im, sh_type, &all);
		if (r == 0)
			r = image_each_symbol(im, &all, is_in_code, add_symbol, &l);
		vec_done(&l.code.spans);
	}
	if (r == -E2BIG)
		dso_refuse(d, bytes, budget_expired(d->budget) ? "some symbols, for lack of time," : "some symbols");
	return d->symbols.syms.n > before;
}

/* Most symbols are not code, so returns the bytes taken for them to the budget. */
static void finish_table(struct dso *d)
{
	struct symbol_table *t = &d->symbols;
	uint64_t keep = (uint64_t)t->syms.n * SYMBOL_BYTES;

	symbol_table_finish(t);
	if (t->held > keep) {
		budget_give(d->budget, t->held - keep);
		t->held = keep;
	}
}

/* The full table may be in the file, its debug file, or .gnu_debugdata, which lacks the symbols of .dynsym. */
static void load_symbols(struct dso *d)
{
	struct symbol_table *t = &d->symbols;

	if (t->loaded || d->recorded || !dso_begin(d))
		return;
	t->loaded = true;
	t->full = load_table(d, &d->main, SHT_SYMTAB) || load_table(d, dso_debug_image(d), SHT_SYMTAB) ||
		  load_table(d, dso_mini_image(d), SHT_SYMTAB);
	load_table(d, &d->main, SHT_DYNSYM);
	finish_table(d);
	dso_end(d);
}

/* --- The first few addresses --- */

/*
 * Sorting the symbols of libjvm.so takes as long as looking through them 32 times, and a short recording has fewer native
 * frames. Small tables are sorted at once.
 */
enum { SCANS_MAX = 32, SCAN_FROM = 256 /* symbols */ };

static bool note_innermost(void *ctx, const Elf64_Sym *sym, const char *name)
{
	struct loader *l = ctx;

	(void)name;
	if (sym->st_value > l->start)
		l->start = sym->st_value;
	return true;
}

static int scan_table(struct dso *d, uint32_t sh_type, const struct image_range *range, image_symbol_fn *fn,
		      struct loader *l)
{
	struct image_symbols all;
	int r = image_symbols(&d->main, sh_type, &all);

	return r < 0 ? r : image_each_symbol_in(&d->main, &all, range, is_in_code, fn, l);
}

static int scan_both(struct dso *d, struct image_range range, image_symbol_fn *fn, struct loader *l)
{
	int r = scan_table(d, SHT_SYMTAB, &range, fn, l);

	return r < 0 ? r : scan_table(d, SHT_DYNSYM, &range, fn, l);
}

/*
 * Of the functions whose sizes reach `vaddr`, the table has the innermost, and none without a size within that; see
 * settle() in symbol_table.c. Of the symbols that start there, the table chooses the best. false: none, or the best one
 * ends before, which the whole table decides.
 */
static bool scan_for(struct dso *d, struct loader *l, struct symbol *ret)
{
	const struct symbol *s = NULL;

	if (load_code_sections(&d->main, &l->code) == 0 &&
	    scan_both(d, (struct image_range){0, l->vaddr, false}, note_innermost, l) == 0 && l->start &&
	    scan_both(d, (struct image_range){l->start, l->start, true}, add_symbol, l) == 0) {
		symbol_table_finish(l->table);
		s = symbol_table_find(l->table, l->vaddr);
	}
	if (s)
		*ret = *s;
	return s;
}

static bool scan(struct dso *d, uint64_t vaddr, struct symbol *ret)
{
	struct symbol_table few = {0};
	struct loader l = {.dso = d, .table = &few, .vaddr = vaddr};
	bool found;

	if (d->symbols.loaded || d->recorded || d->scans >= SCANS_MAX ||
	    image_symbol_count(&d->main, SHT_SYMTAB) < SCAN_FROM || !dso_begin(d))
		return false;
	d->scans++;
	found = scan_for(d, &l, ret);
	dso_end(d);
	vec_done(&few.syms);
	vec_done(&l.code.spans);
	return found;
}

static bool find_code(struct dso *d, uint64_t vaddr, struct symbol *ret)
{
	const struct symbol *s;

	if (scan(d, vaddr, ret))
		return true;
	load_symbols(d);
	s = symbol_table_find(&d->symbols, vaddr);
	if (s)
		*ret = *s;
	return s;
}

int dso_find_symbol(struct dso *d, uint64_t vaddr, struct dso_symbol *ret)
{
	struct symbol s;

	if (find_code(d, vaddr, &s))
		*ret = (struct dso_symbol){s.name, s.start, s.end - s.start};
	else if (d->recorded || dso_plt_find(d, vaddr, ret) < 0)
		return -ENOENT;
	if (d->tap && d->tap->symbol)
		d->tap->symbol(d->tap->ctx, d, vaddr, ret);
	return 0;
}

bool dso_has_symtab(struct dso *d)
{
	load_symbols(d);
	return d->symbols.full;
}

static bool is_any(void *ctx, const Elf64_Sym *sym)
{
	(void)ctx;
	return ELF64_ST_TYPE(sym->st_info) != STT_FILE;
}

static bool is_variable(void *ctx, const Elf64_Sym *sym)
{
	(void)ctx;
	return ELF64_ST_TYPE(sym->st_info) == STT_OBJECT;
}

static bool index_symbol(void *ctx, const Elf64_Sym *sym, const char *name)
{
	return !*name || name_index_add(ctx, name, sym->st_value, sym->st_size);
}

static int index_names(struct dso *d, struct image *im, uint32_t sh_type, image_wanted_fn *wanted, struct name_index *x)
{
	size_t count = image_symbol_count(im, sh_type);
	struct image_symbols all;
	int r = -E2BIG;

	/* An index of all symbols is begun only if the budget allows all of them. */
	if (wanted != is_any || name_index_reserve(x, count))
		r = image_symbols(im, sh_type, &all);
	if (r == 0)
		r = image_each_symbol(im, &all, wanted, index_symbol, x);
	if (r == -E2BIG)
		dso_refuse(d, (uint64_t)count * sizeof(Elf64_Sym), "some names");
	return r;
}

/* The full table may be in the file or in its debug file. */
static const struct name_entry *find_in_symtab(struct dso *d, image_wanted_fn *wanted, struct name_index *x,
					       const char *name)
{
	if (!x->loaded && dso_begin(d)) {
		x->loaded = true;
		if (index_names(d, &d->main, SHT_SYMTAB, wanted, x) == -ENOENT && dso_debug_image(d))
			index_names(d, &d->debug, SHT_SYMTAB, wanted, x);
		dso_end(d);
	}
	return name_index_find(x, name);
}

/* Exported symbols are few and often sufficient; if not, the full table is read. */
static const struct name_entry *exported(struct dso *d, const char *name)
{
	if (!d->dynamic_names.loaded && !d->recorded && dso_begin(d)) {
		d->dynamic_names.loaded = true;
		index_names(d, &d->main, SHT_DYNSYM, is_any, &d->dynamic_names);
		dso_end(d);
	}
	return name_index_find(&d->dynamic_names, name);
}

static int found(struct dso *d, const char *name, const struct name_entry *e, uint64_t *ret_vaddr, uint64_t *ret_size)
{
	if (!e)
		return -ENOENT;
	*ret_vaddr = e->vaddr;
	*ret_size = e->size;
	if (d->tap && d->tap->name)
		d->tap->name(d->tap->ctx, d, name, e->vaddr, e->size);
	return 0;
}

int dso_find_by_name(struct dso *d, const char *name, uint64_t *ret_vaddr, uint64_t *ret_size)
{
	const struct name_entry *e = exported(d, name);

	if (!e && !d->recorded)
		e = find_in_symtab(d, is_any, &d->all_names, name);
	return found(d, name, e, ret_vaddr, ret_size);
}

int dso_find_exported(struct dso *d, const char *name, uint64_t *ret_vaddr, uint64_t *ret_size)
{
	return found(d, name, exported(d, name), ret_vaddr, ret_size);
}

bool dso_has_variable(struct dso *d, const char *name)
{
	uint64_t vaddr, size;

	if (!d->recorded && !exported(d, name) && !image_symbol_count(&d->main, SHT_SYMTAB))
		return false;
	return dso_find_variable(d, name, &vaddr, &size) == 0;
}

bool dso_has_section(struct dso *d, const char *name)
{
	Elf64_Shdr sh;

	return d->main.elf && image_section(&d->main, name, &sh);
}

int dso_find_variable(struct dso *d, const char *name, uint64_t *ret_vaddr, uint64_t *ret_size)
{
	const struct name_entry *e = exported(d, name);

	if (!e && !d->recorded)
		e = find_in_symtab(d, is_variable, &d->variables, name);
	return found(d, name, e, ret_vaddr, ret_size);
}
