#include "symbolizer/native/cfi/cfi_row.h"

#include <errno.h>
#include <string.h>

#include "symbolizer/native/cfi/cfi_expr.h"
#include "symbolizer/target/arch.h"
#include "symbolizer/target/mem.h"

/* Prologues save at most six registers and the return address; hand-written code may save a few more. */
enum { SAVE_AREA_MAX = 192 };

static bool exprs_valid(const struct cfi_exprs *e)
{
	if (e->n > CFI_MAX_EXPRS || e->n_ops > CFI_MAX_OPS)
		return false;
	for (unsigned i = 0; i < e->n; i++)
		if (e->start[i] > e->n_ops || e->len[i] > e->n_ops - e->start[i])
			return false;
	return true;
}

static bool rule_valid(const struct cfi_row *row, const struct cfi_rule *rule)
{
	unsigned n = row->exprs ? row->exprs->n : 0;

	switch (rule->kind) {
	case CFI_REGISTER: return rule->value >= 0 && (unsigned)rule->value < arch_host()->n_regs;
	case CFI_EXPR:
	case CFI_VAL_EXPR: return rule->value >= 0 && (unsigned)rule->value < n;
	default: return rule->kind <= CFI_VAL_EXPR;
	}
}

static bool cfa_valid(const struct cfi_row *row)
{
	if (row->cfa_is_expr)
		return row->exprs && row->cfa_off >= 0 && row->cfa_off < row->exprs->n;
	return row->cfa_reg < arch_host()->n_regs;
}

/* Saved registers are nearly always close together, so that one read gets all of them. */
static void find_save_area(struct cfi_row *row)
{
	int64_t lo = INT64_MAX, hi = INT64_MIN;

	for (unsigned i = 0; i < REGS_MAX; i++) {
		if (row->rule[i].kind != CFI_OFFSET)
			continue;
		lo = row->rule[i].value < lo ? row->rule[i].value : lo;
		hi = row->rule[i].value > hi ? row->rule[i].value : hi;
	}
	row->save_lo = 0;
	row->save_len = 0;
	if (hi >= lo && hi + 8 - lo <= SAVE_AREA_MAX) {
		row->save_lo = (int32_t)lo;
		row->save_len = (uint32_t)(hi + 8 - lo);
	}
}

int cfi_row_seal(struct cfi_row *row)
{
	if ((row->exprs && !exprs_valid(row->exprs)) || !cfa_valid(row))
		return -EINVAL;
	row->same = row->computed = 0;
	for (unsigned i = 0; i < REGS_MAX; i++) {
		if (!rule_valid(row, &row->rule[i]))
			return -EINVAL;
		if (row->rule[i].kind == CFI_SAME)
			row->same |= UINT64_C(1) << i;
		else if (row->rule[i].kind != CFI_UNDEFINED)
			row->computed |= UINT64_C(1) << i;
	}
	find_save_area(row);
	return 0;
}

struct step {
	const struct cfi_row *row;
	struct cfi_expr_input in;
	uint64_t cfa;
	bool have_area;
	uint8_t area[SAVE_AREA_MAX];
};

static enum cfi_step compute_cfa(struct step *s)
{
	const struct cfi_row *row = s->row;

	if (row->cfa_is_expr)
		return cfi_expr_eval(row->exprs, (unsigned)row->cfa_off, &s->in, &s->cfa);
	if (!regs_known(s->in.regs, row->cfa_reg))
		return CFI_STEP_BAD_ROW;
	s->cfa = s->in.regs->r[row->cfa_reg] + (uint64_t)(int64_t)row->cfa_off;
	return CFI_STEP_OK;
}

static enum cfi_step read_saved(struct step *s, uint64_t addr, uint64_t *ret)
{
	uint64_t off = addr - (s->cfa + (uint64_t)(int64_t)s->row->save_lo);

	if (s->have_area && off <= s->row->save_len - 8) {
		memcpy(ret, s->area + off, 8);
		return CFI_STEP_OK;
	}
	return mem_read_u64(s->in.mem, addr, ret) ? CFI_STEP_OK : CFI_STEP_BAD_MEMORY;
}

/*
 * A slot below the stack pointer has already been popped: compilers do not change the rule between `pop` and `ret`. The
 * register has the caller's value again, and the slot may be outside of the copied stack.
 */
static bool is_popped(const struct step *s, const struct arch *arch, unsigned reg)
{
	const struct cfi_rule *rule = &s->row->rule[reg];

	return rule->kind == CFI_OFFSET && reg != arch->pc && reg != arch->sp && regs_known(s->in.regs, arch->sp) &&
	       regs_known(s->in.regs, reg) && s->cfa + (uint64_t)(int64_t)rule->value < s->in.regs->r[arch->sp];
}

static enum cfi_step compute_register(struct step *s, const struct cfi_rule *rule, uint64_t *ret)
{
	enum cfi_step result;
	uint64_t addr;

	switch (rule->kind) {
	case CFI_OFFSET: return read_saved(s, s->cfa + (uint64_t)(int64_t)rule->value, ret);
	case CFI_VAL_OFFSET: *ret = s->cfa + (uint64_t)(int64_t)rule->value; return CFI_STEP_OK;
	case CFI_REGISTER:
		if (!regs_known(s->in.regs, (unsigned)rule->value))
			return CFI_STEP_BAD_ROW;
		*ret = s->in.regs->r[rule->value];
		return CFI_STEP_OK;
	case CFI_EXPR:
		result = cfi_expr_eval(s->row->exprs, (unsigned)rule->value, &s->in, &addr);
		return result != CFI_STEP_OK ? result : read_saved(s, addr, ret);
	case CFI_VAL_EXPR: return cfi_expr_eval(s->row->exprs, (unsigned)rule->value, &s->in, ret);
	default: return CFI_STEP_BAD_ROW;
	}
}

enum cfi_step cfi_row_apply(const struct cfi_row *row, const struct arch *arch, struct mem *mem, struct regs *regs)
{
	struct step s;
	uint64_t todo;
	struct regs caller; /* only the registers computed below */
	enum cfi_step result;

	if (row->rule[arch->pc].kind == CFI_UNDEFINED)
		return CFI_STEP_ROOT;
	if (row->rule[arch->pc].kind == CFI_SAME)
		return CFI_STEP_BAD_ROW;
	s.row = row;
	s.in = (struct cfi_expr_input){regs, mem, NULL};
	if ((result = compute_cfa(&s)) != CFI_STEP_OK)
		return result;
	s.in.cfa = &s.cfa;
	s.have_area = row->save_len && mem_read(mem, s.cfa + (uint64_t)(int64_t)row->save_lo, s.area, row->save_len);
	caller.known = regs->known & row->same;
	if (!(row->computed >> arch->sp & 1))
		regs_set(&caller, arch->sp, s.cfa);
	for (todo = row->computed; todo; todo &= todo - 1) {
		unsigned reg = (unsigned)__builtin_ctzll(todo);
		uint64_t value;

		if (is_popped(&s, arch, reg)) {
			regs_set(&caller, reg, regs->r[reg]);
			continue;
		}
		result = compute_register(&s, &row->rule[reg], &value);
		if (result == CFI_STEP_OK)
			regs_set(&caller, reg, value);
		else if (reg == arch->pc || reg == arch->sp)
			return result;
	}
	for (todo = (row->computed | UINT64_C(1) << arch->sp) & caller.known; todo; todo &= todo - 1)
		regs->r[__builtin_ctzll(todo)] = caller.r[__builtin_ctzll(todo)];
	regs->known = caller.known;
	return CFI_STEP_OK;
}
