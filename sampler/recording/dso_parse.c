#include "sampler/recording/dso_parse.h"

#include "sampler/recording/decode.h"
#include "sampler/recording/format.h"
#include "symbolizer/target/arch.h"

/* The least size of an element in the file, for checking counts before allocating. */
enum { SEGMENT_BYTES = 36, ROW_BYTES = 101, NAME_BYTES = 20, LINE_BYTES = 21 };

static void *alloc_array(struct cursor *c, struct arena *a, uint32_t n, size_t size)
{
	void *p = decode_fits(a) ? arena_alloc(a, n ? n * size : 1) : NULL;

	if (!p)
		c->bad = true;
	return p;
}

static void parse_segments(struct cursor *c, struct arena *a, struct dso_record *r)
{
	uint32_t n = get_count(c, SEGMENT_BYTES);
	struct dso_segment *s = alloc_array(c, a, n, sizeof(*s));

	for (uint32_t i = 0; i < n && !c->bad; i++) {
		s[i].offset = cursor_u64(c);
		s[i].vaddr = cursor_u64(c);
		s[i].filesz = cursor_u64(c);
		s[i].memsz = cursor_u64(c);
		s[i].flags = cursor_u32(c);
	}
	r->segments = s;
	r->n_segments = n;
}

static void parse_expr(struct cursor *c, struct cfi_exprs *e, unsigned i)
{
	unsigned ops = cursor_u16(c);

	if (ops > (unsigned)CFI_MAX_OPS - e->n_ops) {
		c->bad = true;
		return;
	}
	e->start[i] = e->n_ops;
	e->len[i] = (uint16_t)ops;
	for (unsigned k = 0; k < ops; k++) {
		struct cfi_op *op = &e->op[e->n_ops++];

		op->op = cursor_u8(c);
		op->value = (int64_t)cursor_u64(c);
	}
}

static const struct cfi_exprs *parse_exprs(struct cursor *c, struct arena *a)
{
	unsigned n = cursor_u16(c);
	struct cfi_exprs *e;

	if (!n)
		return NULL;
	e = n <= CFI_MAX_EXPRS ? alloc_array(c, a, 1, sizeof(*e)) : NULL;
	if (!e) {
		c->bad = true;
		return NULL;
	}
	e->n = (uint16_t)n;
	for (unsigned i = 0; i < n && !c->bad; i++)
		parse_expr(c, e, i);
	return e;
}

static void parse_row(struct cursor *c, struct arena *a, struct dso_record_row *ret, struct cfi_row *row)
{
	uint8_t flags;

	*row = (struct cfi_row){0};
	ret->vaddr = cursor_u64(c);
	ret->row = row;
	flags = cursor_u8(c);
	row->signal_frame = flags & ROW_SIGNAL_FRAME;
	row->cfa_is_expr = flags & ROW_CFA_IS_EXPR;
	row->cfa_reg = cursor_u8(c);
	row->cfa_off = cursor_i32(c);
	for (unsigned i = 0; i < arch_host()->n_regs; i++) {
		row->rule[i].kind = cursor_u8(c);
		row->rule[i].value = cursor_i32(c);
	}
	row->exprs = parse_exprs(c, a);
}

static void parse_rows(struct cursor *c, struct arena *a, struct dso_record *r)
{
	uint32_t n = get_count(c, ROW_BYTES);
	struct dso_record_row *rows = alloc_array(c, a, n, sizeof(*rows));
	struct cfi_row *values = alloc_array(c, a, n, sizeof(*values));

	for (uint32_t i = 0; i < n && !c->bad; i++)
		parse_row(c, a, &rows[i], &values[i]);
	r->rows = rows;
	r->n_rows = n;
}

static const struct dso_symbol *parse_symbols(struct cursor *c, struct arena *a, size_t *ret_n)
{
	uint32_t n = get_count(c, NAME_BYTES);
	struct dso_symbol *s = alloc_array(c, a, n, sizeof(*s));

	for (uint32_t i = 0; i < n && !c->bad; i++) {
		s[i].name = get_text(c, a);
		s[i].vaddr = cursor_u64(c);
		s[i].size = cursor_u64(c);
	}
	*ret_n = n;
	return s;
}

static void parse_lines(struct cursor *c, struct arena *a, struct dso_record *r)
{
	uint32_t n = get_count(c, LINE_BYTES);
	struct dso_record_line *l = alloc_array(c, a, n, sizeof(*l));

	for (uint32_t i = 0; i < n && !c->bad; i++) {
		bool has_function;

		l[i].vaddr = cursor_u64(c);
		has_function = cursor_u8(c);
		l[i].line.function = get_text(c, a);
		if (!has_function)
			l[i].line.function = NULL;
		l[i].line.file = get_text(c, a);
		l[i].line.line = cursor_i32(c);
	}
	r->lines = l;
	r->n_lines = n;
}

bool dso_parse(struct cursor *c, struct arena *a, struct dso_record *ret)
{
	*ret = (struct dso_record){0};
	ret->has_symtab = cursor_u8(c);
	ret->build_id_len = get_count(c, 1);
	ret->build_id = cursor_take(c, ret->build_id_len);
	parse_segments(c, a, ret);
	parse_rows(c, a, ret);
	ret->symbols = parse_symbols(c, a, &ret->n_symbols);
	ret->names = parse_symbols(c, a, &ret->n_names);
	parse_lines(c, a, ret);
	return !c->bad;
}
