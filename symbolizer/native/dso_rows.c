#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/hash.h"
#include "symbolizer/native/cfi_check.h"
#include "symbolizer/native/dso_priv.h"

/*
 * The row cache. Distinct rows are few (libjvm: some thousand for millions of addresses), so rows
 * are shared, and a table from address to row is what a hot unwind touches.
 */
enum { FIRST_SLOTS = 1024, MAX_SLOTS = 1 << 21, MAX_ROWS = 1 << 18, MAX_EXPRS = 1024 };

static size_t slot_find(uint64_t seed, const struct row_slot *slots, size_t n_slots, uint64_t key)
{
	size_t i = hash_u64(key ^ seed) & (n_slots - 1);

	while (slots[i].vaddr && slots[i].vaddr != key)
		i = (i + 1) & (n_slots - 1);
	return i;
}

static bool slots_grow(struct row_cache *c)
{
	size_t n = c->n_slots ? c->n_slots * 2 : FIRST_SLOTS, i;
	struct row_slot *slots;

	if (n > MAX_SLOTS) { /* more addresses than any real code has: start again */
		memset(c->slots, 0, c->n_slots * sizeof(*c->slots));
		c->n = 0;
		return true;
	}
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return false;
	for (i = 0; i < c->n_slots; i++)
		if (c->slots[i].vaddr)
			slots[slot_find(c->seed, slots, n, c->slots[i].vaddr)] = c->slots[i];
	free(c->slots);
	c->slots = slots;
	c->n_slots = n;
	return true;
}

bool row_cache_put(struct row_cache *c, uint64_t vaddr, const struct cfi_row *row)
{
	size_t i;

	if (c->n * 2 >= c->n_slots && !slots_grow(c))
		return false;
	i = slot_find(c->seed, c->slots, c->n_slots, vaddr + 1);
	if (!c->slots[i].vaddr)
		c->n++;
	c->slots[i] = (struct row_slot){vaddr + 1, row};
	return true;
}

static const struct cfi_exprs *intern_exprs(struct dso *d, const struct cfi_exprs *exprs)
{
	struct row_cache *c = &d->rows;
	struct cfi_exprs *copy;
	size_t i;

	for (i = 0; i < c->exprs.n; i++)
		if (!memcmp(c->exprs.v[i], exprs, sizeof(*exprs)))
			return c->exprs.v[i];
	copy = i < MAX_EXPRS ? arena_copy(&d->arena, exprs, sizeof(*exprs)) : NULL;
	return copy && vec_push(&c->exprs, copy) ? copy : NULL;
}

static bool index_grow(struct row_cache *c)
{
	size_t n = c->n_index ? c->n_index * 2 : FIRST_SLOTS, i;
	uint32_t *index = calloc(n, sizeof(*index));

	if (!index)
		return false;
	for (i = 0; i < c->rows.n; i++) {
		size_t at = hash_bytes_seeded(c->seed, c->rows.v[i], sizeof(struct cfi_row)) &
			    (n - 1);

		while (index[at])
			at = (at + 1) & (n - 1);
		index[at] = (uint32_t)i + 1;
	}
	free(c->index);
	c->index = index;
	c->n_index = n;
	return true;
}

/* Rows are compared as bytes, so padding must be zero: copied member by member. */
static void copy_clean(struct cfi_row *dst, const struct cfi_row *src)
{
	unsigned i;

	memset(dst, 0, sizeof(*dst));
	dst->signal_frame = src->signal_frame;
	dst->cfa_is_expr = src->cfa_is_expr;
	dst->cfa_reg = src->cfa_reg;
	dst->cfa_off = src->cfa_off;
	for (i = 0; i < X86_REGS; i++) {
		dst->rule[i].kind = src->rule[i].kind;
		dst->rule[i].value = src->rule[i].value;
	}
}

static void copy_clean_exprs(struct cfi_exprs *dst, const struct cfi_exprs *src)
{
	unsigned i;

	memset(dst, 0, sizeof(*dst));
	dst->n = src->n <= CFI_MAX_EXPRS ? src->n : CFI_MAX_EXPRS;
	dst->n_ops = src->n_ops <= CFI_MAX_OPS ? src->n_ops : CFI_MAX_OPS;
	memcpy(dst->start, src->start, dst->n * sizeof(dst->start[0]));
	memcpy(dst->len, src->len, dst->n * sizeof(dst->len[0]));
	for (i = 0; i < dst->n_ops; i++) {
		dst->op[i].op = src->op[i].op;
		dst->op[i].value = src->op[i].value;
	}
}

const struct cfi_row *row_cache_intern(struct dso *d, const struct cfi_row *row)
{
	struct row_cache *c = &d->rows;
	struct cfi_exprs exprs;
	struct cfi_row clean;
	size_t at;

	copy_clean(&clean, row);
	if (row->exprs) {
		copy_clean_exprs(&exprs, row->exprs);
		if (!(clean.exprs = intern_exprs(d, &exprs)))
			return NULL;
	}
	if (cfi_row_seal(&clean) < 0 || (c->rows.n * 2 >= c->n_index && !index_grow(c)))
		return NULL;
	at = hash_bytes_seeded(c->seed, &clean, sizeof(clean)) & (c->n_index - 1);
	for (; c->index[at]; at = (at + 1) & (c->n_index - 1))
		if (!memcmp(c->rows.v[c->index[at] - 1], &clean, sizeof(clean)))
			return c->rows.v[c->index[at] - 1];
	row = c->rows.n < MAX_ROWS ? arena_copy(&d->arena, &clean, sizeof(clean)) : NULL;
	if (!row || !vec_push(&c->rows, row))
		return NULL;
	c->index[at] = (uint32_t)c->rows.n;
	return row;
}

void row_cache_done(struct row_cache *c)
{
	free(c->slots);
	free(c->index);
	vec_done(&c->rows);
	vec_done(&c->exprs);
}

static bool open_cfi(struct dso *d)
{
	if (!d->cfi_tried && !d->recorded) {
		d->cfi_tried = true;
		d->cfi = d->main.elf ? cfi_open_checked(d) : NULL;
	}
	return d->cfi != NULL;
}

/* Looks up in the file, and remembers also that there is nothing. */
static const struct cfi_row *read_row(struct dso *d, uint64_t vaddr)
{
	const struct cfi_row *row = NULL;
	struct cfi_exprs exprs;
	struct cfi_row fresh;

	budget_begin(d->budget);
	if (budget_expired(d->budget))
		dso_refuse(d, 0, "unwind information, for want of time,");
	else if (open_cfi(d) && cfi_read_row(d->cfi, vaddr, &fresh, &exprs) == 0)
		row = row_cache_intern(d, &fresh);
	for (unsigned i = 0; i < DEBUG_FRAMES && !row && !budget_expired(d->budget); i++) {
		Dwarf_CFI *cfi = dso_debug_frame(d, i);

		if (cfi && cfi_read_row(cfi, vaddr, &fresh, &exprs) == 0)
			row = row_cache_intern(d, &fresh);
	}
	budget_end(d->budget);
	row_cache_put(&d->rows, vaddr, row);
	return row;
}

int dso_cfi_row(struct dso *d, uint64_t vaddr, const struct cfi_row **ret)
{
	const struct row_cache *c = &d->rows;
	const struct cfi_row *row;
	size_t i = c->n_slots ? slot_find(c->seed, c->slots, c->n_slots, vaddr + 1) : 0;

	if (c->n_slots && c->slots[i].vaddr)
		row = c->slots[i].row;
	else
		row = read_row(d, vaddr);
	if (!row)
		return -ENOENT;
	*ret = row;
	if (d->tap && d->tap->row)
		d->tap->row(d->tap->ctx, d, vaddr, row);
	return 0;
}
