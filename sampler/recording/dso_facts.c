#include "sampler/recording/dso_facts.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/recording/format.h"
#include "symbolizer/base/encode.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/base/u64map.h"
#include "symbolizer/target/arch.h"

/* Collected facts of one DSO, already in the format of the file. */
struct facts {
	struct dso *dso;
	struct buf rows, symbols, names, lines;
	uint32_t n_rows, n_symbols, n_names, n_lines;
	struct facts *next;
};

struct dso_facts {
	struct dso_tap tap;
	struct facts *list;
	struct u64map seen; /* hashes of the facts that were collected: DSO, kind, and address or name */
};

static struct facts *facts_of(struct dso_facts *f, struct dso *d)
{
	struct facts *x;

	for (x = f->list; x; x = x->next)
		if (x->dso == d)
			return x;
	x = calloc(1, sizeof(*x));
	if (!x)
		return NULL;
	x->dso = d;
	x->next = f->list;
	return f->list = x;
}

static bool first_time(struct dso_facts *f, struct dso *d, char sort, uint64_t what)
{
	uint64_t key = hash_mix(hash_mix((uintptr_t)d, (uint64_t)sort), what);

	key += !key; /* no key of a u64map is 0 */
	return !u64map_get(&f->seen, key) && u64map_put(&f->seen, key, 1);
}

static void put_exprs(struct buf *b, const struct cfi_exprs *e)
{
	put_u16(b, e ? e->n : 0);
	for (unsigned i = 0; e && i < e->n; i++) {
		put_u16(b, e->len[i]);
		for (unsigned k = 0; k < e->len[i]; k++) {
			const struct cfi_op *op = &e->op[e->start[i] + k];

			put_u8(b, op->op);
			put_u64(b, (uint64_t)op->value);
		}
	}
}

static void on_row(void *ctx, struct dso *d, uint64_t vaddr, const struct cfi_row *row)
{
	struct facts *x = facts_of(ctx, d);

	if (!x || !first_time(ctx, d, 'r', vaddr))
		return;
	x->n_rows++;
	put_u64(&x->rows, vaddr);
	put_u8(&x->rows, (row->signal_frame ? ROW_SIGNAL_FRAME : 0) | (row->cfa_is_expr ? ROW_CFA_IS_EXPR : 0));
	put_u8(&x->rows, row->cfa_reg);
	put_u32(&x->rows, (uint32_t)row->cfa_off);
	for (unsigned i = 0; i < arch_host()->n_regs; i++) {
		put_u8(&x->rows, row->rule[i].kind);
		put_u32(&x->rows, (uint32_t)row->rule[i].value);
	}
	put_exprs(&x->rows, row->exprs);
}

static void put_named(struct buf *b, const char *name, uint64_t vaddr, uint64_t size)
{
	put_text(b, name);
	put_u64(b, vaddr);
	put_u64(b, size);
}

static void on_symbol(void *ctx, struct dso *d, uint64_t vaddr, const struct dso_symbol *sym)
{
	struct facts *x = facts_of(ctx, d);

	(void)vaddr;
	if (!x || !first_time(ctx, d, 's', sym->vaddr))
		return;
	x->n_symbols++;
	put_named(&x->symbols, sym->name, sym->vaddr, sym->size);
}

static void on_name(void *ctx, struct dso *d, const char *name, uint64_t vaddr, uint64_t size)
{
	struct facts *x = facts_of(ctx, d);

	if (!x || !first_time(ctx, d, 'n', hash_bytes(name, strlen(name))))
		return;
	x->n_names++;
	put_named(&x->names, name, vaddr, size);
}

static void on_lines(void *ctx, struct dso *d, uint64_t vaddr, const struct dso_line *lines, size_t n)
{
	struct facts *x = facts_of(ctx, d);

	if (!x || !first_time(ctx, d, 'l', vaddr))
		return;
	for (size_t i = 0; i < n; i++) {
		x->n_lines++;
		put_u64(&x->lines, vaddr);
		put_u8(&x->lines, lines[i].function != NULL);
		put_text(&x->lines, lines[i].function ? lines[i].function : "");
		put_text(&x->lines, lines[i].file ? lines[i].file : "");
		put_u32(&x->lines, (uint32_t)lines[i].line);
	}
}

struct dso_facts *dso_facts_new(void)
{
	struct dso_facts *f = calloc(1, sizeof(*f));

	if (f)
		f->tap = (struct dso_tap){on_row, on_symbol, on_name, on_lines, f};
	return f;
}

void dso_facts_free(struct dso_facts *f)
{
	struct facts *x;

	if (!f)
		return;
	u64map_done(&f->seen);
	while ((x = f->list)) {
		f->list = x->next;
		buf_done(&x->rows);
		buf_done(&x->symbols);
		buf_done(&x->names);
		buf_done(&x->lines);
		free(x);
	}
	free(f);
}

const struct dso_tap *dso_facts_tap(struct dso_facts *f)
{
	return &f->tap;
}

static void put_segments(struct buf *b, const struct dso *d)
{
	size_t n;
	const struct dso_segment *s = dso_segments(d, &n);

	put_u32(b, (uint32_t)n);
	for (size_t i = 0; i < n; i++) {
		put_u64(b, s[i].offset);
		put_u64(b, s[i].vaddr);
		put_u64(b, s[i].filesz);
		put_u64(b, s[i].memsz);
		put_u32(b, s[i].flags);
	}
}

static void put_list(struct buf *b, uint32_t n, const struct buf *list)
{
	put_u32(b, n);
	buf_add(b, list->data, list->len);
}

static void put_dso(const struct facts *x, struct buf *b)
{
	size_t start = put_section(b, TAG_DSO), n;
	const uint8_t *id = dso_build_id(x->dso, &n);

	put_text(b, dso_path(x->dso));
	put_u8(b, dso_has_symtab(x->dso));
	put_u32(b, (uint32_t)n);
	buf_add(b, id, n);
	put_segments(b, x->dso);
	put_list(b, x->n_rows, &x->rows);
	put_list(b, x->n_symbols, &x->symbols);
	put_list(b, x->n_names, &x->names);
	put_list(b, x->n_lines, &x->lines);
	put_section_end(b, start);
}

void dso_facts_put(const struct dso_facts *f, struct buf *b)
{
	for (const struct facts *x = f->list; x; x = x->next)
		put_dso(x, b);
}
