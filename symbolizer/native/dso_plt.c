#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/sorted.h"
#include "symbolizer/base/trim.h"
#include "symbolizer/native/dso_plt.h"
#include "symbolizer/native/dso_priv.h"
#include "symbolizer/target/arch.h"

/*
 * Stubs of the procedure linkage table have no symbols. Each stub either jumps through a slot of the global offset
 * table, or, if that jump is in .plt.sec, pushes the number of its relocation (psABI AMD64 supplement, 5.2 and 13.2).
 * The slot's relocation names the symbol. Everything is read when an address in such a section is first looked up.
 */
enum {
	RELOCATIONS_MAX = 1 << 20, /* of the types used here; a section may have 4 times as many in total */
	SECTION_MAX = 64 << 20,
	STUB = 16,
	NAME_MAX_BYTES = 4096,
};

struct plt_relocation {
	uint64_t slot;
	uint32_t symbol; /* 0: IRELATIVE, the function is at `function` */
	uint64_t function;
};

struct dso_plt {
	VEC(struct plt_relocation) relocations; /* by slot */
	VEC(uint64_t) numbered; /* the slot of each .rela.plt entry, in its order */
	struct section {
		uint64_t start, size;
		const uint8_t *bytes;
	} sections[3];
	unsigned n_sections;
	struct image_symbols symbols; /* .dynsym */
};

static int compare_slot(const void *a, const void *b)
{
	const struct plt_relocation *x = a, *y = b;

	return ascending(x->slot, y->slot);
}

static bool add_relocation(struct dso_plt *p, const Elf64_Rela *r, bool numbered)
{
	const struct arch *a = arch_host();
	uint32_t type = ELF64_R_TYPE(r->r_info), symbol = ELF64_R_SYM(r->r_info);
	struct plt_relocation to = {r->r_offset, symbol, 0};

	if (numbered && !vec_push(&p->numbered, to.slot))
		return false;
	if (type == a->reloc_irelative)
		to = (struct plt_relocation){r->r_offset, 0, (uint64_t)r->r_addend};
	else if ((type != a->reloc_jump_slot && type != a->reloc_glob_dat) || !symbol)
		return true;
	return p->relocations.n < RELOCATIONS_MAX && vec_push(&p->relocations, to);
}

static void read_relocations(struct dso *d, struct dso_plt *p, const char *name, bool numbered)
{
	Elf64_Shdr sh;
	Elf_Scn *scn = image_section(&d->main, name, &sh);
	size_t len = 0;
	uint8_t *bytes = scn && sh.sh_type == SHT_RELA ? image_section_copy(&d->main, scn, SECTION_MAX, &len) : NULL;
	size_t n = len / sizeof(Elf64_Rela);

	for (size_t i = 0; i < n && i < 4 * (size_t)RELOCATIONS_MAX; i++) {
		Elf64_Rela r;

		memcpy(&r, bytes + i * sizeof(r), sizeof(r));
		if (!add_relocation(p, &r, numbered))
			break;
	}
	if (bytes)
		image_copy_done(&d->main, bytes, len);
}

static void read_code(struct dso *d, struct dso_plt *p)
{
	static const char *const names[] = {".plt", ".plt.sec", ".plt.got"};

	for (unsigned i = 0; i < 3; i++) {
		Elf64_Shdr sh;
		Elf_Scn *scn = image_section(&d->main, names[i], &sh);
		Elf_Data *data = scn ? image_section_data(&d->main, scn, SECTION_MAX) : NULL;

		if (data && sh.sh_addr <= UINT64_MAX - data->d_size)
			p->sections[p->n_sections++] = (struct section){sh.sh_addr, data->d_size, data->d_buf};
	}
}

static struct dso_plt *plt_get(struct dso *d)
{
	if (d->plt || d->plt_tried || !d->main.elf)
		return d->plt;
	d->plt_tried = true;
	d->plt = calloc(1, sizeof(*d->plt));
	if (!d->plt)
		return NULL;
	read_code(d, d->plt);
	if (!d->plt->n_sections)
		return d->plt;
	image_symbols(&d->main, SHT_DYNSYM, &d->plt->symbols);
	read_relocations(d, d->plt, ".rela.plt", true);
	read_relocations(d, d->plt, ".rela.dyn", false);
	vec_trim(&d->plt->relocations);
	if (d->plt->relocations.n)
		qsort(d->plt->relocations.v, d->plt->relocations.n, sizeof(*d->plt->relocations.v), compare_slot);
	return d->plt;
}

static int32_t int32_at(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* The slot through which the stub of `len` bytes jumps; 0: unknown. */
static uint64_t stub_slot(const struct dso_plt *p, const uint8_t *b, size_t len, uint64_t start)
{
	size_t i = len >= 4 && !memcmp(b, "\xf3\x0f\x1e\xfa", 4) ? 4 : 0; /* endbr64 */

	if (len >= i + 5 && b[i] == 0x68) { /* push: the number of the relocation */
		uint32_t number = (uint32_t)int32_at(b + i + 1);

		return number < p->numbered.n ? p->numbered.v[number] : 0;
	}
	i += len > i && b[i] == 0xf2; /* bnd */
	if (len < i + 6 || b[i] != 0xff || b[i + 1] != 0x25) /* jmp *slot(%rip) */
		return 0;
	return start + i + 6 + (uint64_t)(int64_t)int32_at(b + i + 2);
}

static const struct plt_relocation *find_relocation(const struct dso_plt *p, uint64_t slot)
{
	struct plt_relocation key = {.slot = slot};

	return slot && p->relocations.n ? bsearch(&key, p->relocations.v, p->relocations.n, sizeof(key), compare_slot) :
					  NULL;
}

static const char *relocation_name(struct dso *d, const struct dso_plt *p, const struct plt_relocation *r)
{
	const struct symbol *s;
	Elf64_Sym sym;

	if (!r->symbol) {
		s = symbol_table_find(&d->symbols, r->function);
		return s && s->start == r->function ? s->name : NULL;
	}
	if (r->symbol >= p->symbols.n)
		return NULL;
	memcpy(&sym, p->symbols.table + r->symbol * sizeof(sym), sizeof(sym));
	return sym.st_name && sym.st_name < p->symbols.names_len ? p->symbols.names + sym.st_name : NULL;
}

/* Stubs are 16 bytes long, or 8 if they consist only of the jump, without push or endbr64. */
static size_t stub_length(const struct section *s, uint64_t at)
{
	return s->size - at >= 8 && s->bytes[at] == 0xff && s->bytes[at + 6] != 0x68 ? STUB / 2 : STUB;
}

static bool find_stub(const struct dso_plt *p, uint64_t vaddr, uint64_t *ret_start, size_t *ret_len, uint64_t *ret_slot)
{
	for (unsigned i = 0; i < p->n_sections; i++) {
		const struct section *s = &p->sections[i];
		uint64_t off = vaddr - s->start, at = off / STUB * STUB;

		if (off >= s->size)
			continue;
		*ret_len = stub_length(s, at);
		if (*ret_len < STUB)
			at = off / *ret_len * *ret_len;
		if (s->size - at < *ret_len)
			*ret_len = s->size - at;
		*ret_start = s->start + at;
		*ret_slot = stub_slot(p, s->bytes + at, *ret_len, *ret_start);
		return *ret_slot != 0;
	}
	return false;
}

int dso_plt_find(struct dso *d, uint64_t vaddr, struct dso_symbol *ret)
{
	const struct dso_plt *p = plt_get(d);
	const struct plt_relocation *r;
	const char *name;
	uint64_t start, slot;
	char text[NAME_MAX_BYTES];
	size_t len;

	if (!p || !find_stub(p, vaddr, &start, &len, &slot))
		return -ENOENT;
	r = find_relocation(p, slot);
	name = r ? relocation_name(d, p, r) : NULL;
	if (!name || !*name)
		return -ENOENT;
	snprintf(text, sizeof(text), "%.*s@plt", (int)sizeof(text) - 8, name);
	name = arena_strndup(&d->arena, text, strlen(text));
	if (!name)
		return -ENOMEM;
	*ret = (struct dso_symbol){name, start, len};
	return 0;
}

void dso_plt_free(struct dso_plt *p)
{
	if (!p)
		return;
	vec_done(&p->relocations);
	vec_done(&p->numbered);
	free(p);
}
