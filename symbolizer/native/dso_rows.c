#include <errno.h>
#include <string.h>

#include "symbolizer/base/hash.h"
#include "symbolizer/native/cfi_check.h"
#include "symbolizer/native/dso_priv.h"

enum { MAX_ADDRESSES = 1 << 20, MAX_ROWS = 1 << 18, MAX_EXPRS = 1024 };

bool row_cache_put(struct row_cache *c, uint64_t vaddr, uint32_t row)
{
	if (c->by_addr.n >= MAX_ADDRESSES) /* more than in any real code: start again */
		u64map_clear(&c->by_addr);
	return u64map_put(&c->by_addr, vaddr + 1, row + 1);
}

static const struct cfi_exprs *intern_exprs(struct dso *d, const struct cfi_exprs *exprs)
{
	struct row_cache *c = &d->rows;
	struct cfi_exprs *copy;

	for (size_t i = 0; i < c->exprs.n; i++)
		if (!memcmp(c->exprs.v[i], exprs, sizeof(*exprs)))
			return c->exprs.v[i];
	copy = c->exprs.n < MAX_EXPRS ? arena_copy(&d->arena, exprs, sizeof(*exprs)) : NULL;
	return copy && vec_push(&c->exprs, copy) ? copy : NULL;
}

/* Rows are compared as bytes. Copying member by member keeps the padding zero. */
static void copy_clean(struct cfi_row *dst, const struct cfi_row *src)
{
	memset(dst, 0, sizeof(*dst));
	dst->signal_frame = src->signal_frame;
	dst->cfa_is_expr = src->cfa_is_expr;
	dst->cfa_reg = src->cfa_reg;
	dst->cfa_off = src->cfa_off;
	for (unsigned i = 0; i < REGS_MAX; i++) {
		dst->rule[i].kind = src->rule[i].kind;
		dst->rule[i].value = src->rule[i].value;
	}
}

static void copy_clean_exprs(struct cfi_exprs *dst, const struct cfi_exprs *src)
{
	memset(dst, 0, sizeof(*dst));
	dst->n = src->n <= CFI_MAX_EXPRS ? src->n : CFI_MAX_EXPRS;
	dst->n_ops = src->n_ops <= CFI_MAX_OPS ? src->n_ops : CFI_MAX_OPS;
	memcpy(dst->start, src->start, dst->n * sizeof(dst->start[0]));
	memcpy(dst->len, src->len, dst->n * sizeof(dst->len[0]));
	for (unsigned i = 0; i < dst->n_ops; i++) {
		dst->op[i].op = src->op[i].op;
		dst->op[i].value = src->op[i].value;
	}
}

static bool row_is(const void *ctx, const void *wanted, uint32_t position)
{
	return !memcmp(((const struct row_cache *)ctx)->rows.v[position], wanted, sizeof(struct cfi_row));
}

static uint32_t row_add(struct dso *d, const struct cfi_row *row, uint64_t hash)
{
	struct row_cache *c = &d->rows;
	const struct cfi_row *copy = c->rows.n < MAX_ROWS ? arena_copy(&d->arena, row, sizeof(*row)) : NULL;

	return copy && slots_push(&c->distinct, hash, &c->rows, copy) ? (uint32_t)c->rows.n : 0;
}

uint32_t row_cache_intern(struct dso *d, const struct cfi_row *row)
{
	struct row_cache *c = &d->rows;
	struct cfi_exprs exprs;
	struct cfi_row clean;
	uint64_t hash;
	uint32_t at;

	copy_clean(&clean, row);
	if (row->exprs) {
		copy_clean_exprs(&exprs, row->exprs);
		if (!(clean.exprs = intern_exprs(d, &exprs)))
			return 0;
	}
	if (cfi_row_seal(&clean) < 0)
		return 0;
	hash = hash_bytes_secret(&clean, sizeof(clean));
	at = slots_find(&c->distinct, hash, row_is, c, &clean);
	return at != SLOTS_NONE ? at + 1 : row_add(d, &clean, hash);
}

void row_cache_done(struct row_cache *c)
{
	u64map_done(&c->by_addr);
	slots_done(&c->distinct);
	vec_done(&c->rows);
	vec_done(&c->exprs);
}

static bool open_cfi(struct dso *d)
{
	if (!d->cfi_tried && !d->recorded) {
		d->cfi_tried = true;
		budget_begin(d->budget);
		d->cfi = d->main.elf ? cfi_open_checked(d) : NULL;
		budget_end(d->budget);
	}
	return d->cfi != NULL;
}

static Dwarf_CFI *open_frame(struct dso *d, unsigned i)
{
	Dwarf_CFI *cfi;

	budget_begin(d->budget);
	cfi = dso_debug_frame(d, i);
	budget_end(d->budget);
	return cfi;
}

/* Reads the row from the file and caches the result, even if there is no row. What one user's time did not suffice for, the next one may find. */
static uint32_t read_row(struct dso *d, uint64_t vaddr)
{
	struct budget *payer = d->user ? d->user : d->budget;
	uint32_t row = 0;
	struct cfi_exprs exprs;
	struct cfi_row fresh;

	budget_begin(payer);
	if (budget_expired(payer))
		dso_refuse(d, 0, "unwind information, for lack of time,");
	else if (open_cfi(d) && cfi_read_row(d->cfi, vaddr, &fresh, &exprs) == 0)
		row = row_cache_intern(d, &fresh);
	for (unsigned i = 0; i < DEBUG_FRAMES && !row && !budget_expired(payer); i++) {
		Dwarf_CFI *cfi = open_frame(d, i);

		if (cfi && cfi_read_row(cfi, vaddr, &fresh, &exprs) == 0)
			row = row_cache_intern(d, &fresh);
	}
	budget_end(payer);
	if (row || !d->user || !budget_expired(payer))
		row_cache_put(&d->rows, vaddr, row);
	return row;
}

int dso_cfi_row(struct dso *d, uint64_t vaddr, const struct cfi_row **ret)
{
	uint32_t known = u64map_get(&d->rows.by_addr, vaddr + 1);
	uint32_t row = known ? known - 1 : read_row(d, vaddr);

	if (!row)
		return -ENOENT;
	*ret = d->rows.rows.v[row - 1];
	if (d->tap && d->tap->row)
		d->tap->row(d->tap->ctx, d, vaddr, *ret);
	return 0;
}
