#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/native/dso_priv.h"
#include "symbolizer/target/arch.h"

/*
 * Converts libdw's view of call frame information (a small DWARF expression for everything) to a row. The forms that
 * libdw uses for each kind of rule are in elfutils, libdw/dwarf_frame_register.c and dwarf_frame_cfa.c. Registers
 * without a rule follow the ABI: callee-saved ones are unchanged, sp is the CFA, others undefined (elfutils,
 * backends/x86_64_cfi.c).
 */

struct reader {
	const struct arch *arch;
	struct cfi_row *row;
	struct cfi_exprs *exprs;
};

static bool op_constant(const Dwarf_Op *op, int64_t *ret)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		*ret = op->atom - DW_OP_lit0;
		return true;
	}
	switch (op->atom) {
	case DW_OP_addr:
	case DW_OP_const1u:
	case DW_OP_const2u:
	case DW_OP_const4u:
	case DW_OP_const8u:
	case DW_OP_constu:
	case DW_OP_const1s:
	case DW_OP_const2s:
	case DW_OP_const4s:
	case DW_OP_const8s:
	case DW_OP_consts: *ret = (int64_t)op->number; return true;
	default: return false;
	}
}

/* A branch gives a byte offset; returns the index of the operation there. -1: none starts there. */
static int64_t branch_target(const Dwarf_Op *ops, size_t n, const Dwarf_Op *branch)
{
	uint64_t offset = branch->offset + 3 + (uint64_t)(int64_t)(int16_t)branch->number;

	for (size_t i = 0; i < n; i++)
		if (ops[i].offset == offset && ops[i].atom != DW_OP_call_frame_cfa)
			return (int64_t)i;
	return offset == ops[n - 1].offset + 1 ? (int64_t)n : -1;
}

static bool op_convert(const Dwarf_Op *ops, size_t n, const Dwarf_Op *op, struct cfi_op *ret)
{
	ret->op = op->atom;
	ret->value = (int64_t)op->number;
	if (op_constant(op, &ret->value)) {
		ret->op = DW_OP_consts;
	} else if (op->atom == DW_OP_bregx) {
		ret->op = (uint8_t)(DW_OP_breg0 + op->number);
		ret->value = (int64_t)op->number2;
		return op->number < 32;
	} else if (op->atom == DW_OP_skip || op->atom == DW_OP_bra) {
		ret->value = branch_target(ops, n, op);
		return ret->value >= 0;
	}
	return true;
}

/* The index of the new expression, or -ENOENT if there is no space or an operation is unsupported. */
static int add_expr(struct reader *r, const Dwarf_Op *ops, size_t n)
{
	struct cfi_exprs *e = r->exprs;

	if (!n || e->n >= CFI_MAX_EXPRS || n > (size_t)(CFI_MAX_OPS - e->n_ops))
		return -ENOENT;
	e->start[e->n] = e->n_ops;
	e->len[e->n] = (uint16_t)n;
	for (size_t i = 0; i < n; i++)
		if (!op_convert(ops, n, &ops[i], &e->op[e->n_ops + i]))
			return -ENOENT;
	e->n_ops = (uint16_t)(e->n_ops + n);
	r->row->exprs = e;
	return e->n++;
}

static bool fits_i32(uint64_t v)
{
	return (int64_t)v >= INT32_MIN && (int64_t)v <= INT32_MAX;
}

static int read_cfa(struct reader *r, Dwarf_Frame *frame)
{
	Dwarf_Op *ops;
	size_t n;
	int index;

	if (dwarf_frame_cfa(frame, &ops, &n) < 0 || !n)
		return -ENOENT;
	if (n == 1 && ops[0].atom == DW_OP_bregx && ops[0].number < r->arch->n_regs && fits_i32(ops[0].number2)) {
		r->row->cfa_reg = (uint8_t)ops[0].number;
		r->row->cfa_off = (int32_t)ops[0].number2;
		return 0;
	}
	index = add_expr(r, ops, n);
	if (index < 0)
		return index;
	r->row->cfa_is_expr = true;
	r->row->cfa_off = index;
	return 0;
}

/* Recognises libdw's form of CFA + constant. */
static bool is_cfa_offset(const Dwarf_Op *ops, size_t n, int32_t *ret)
{
	if (!n || n > 2 || ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	if (n == 2 && (ops[1].atom != DW_OP_plus_uconst || !fits_i32(ops[1].number)))
		return false;
	*ret = n == 2 ? (int32_t)ops[1].number : 0;
	return true;
}

static bool is_register(const struct arch *a, const Dwarf_Op *ops, size_t n, int32_t *ret)
{
	if (n != 1)
		return false;
	if (ops[0].atom == DW_OP_regx)
		*ret = ops[0].number < a->n_regs ? (int32_t)ops[0].number : -1;
	else if (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31 && ops[0].atom - DW_OP_reg0 < (int)a->n_regs)
		*ret = ops[0].atom - DW_OP_reg0;
	else
		return false;
	return *ret >= 0;
}

static int read_rule(struct reader *r, Dwarf_Frame *frame, int reg, struct cfi_rule *rule)
{
	Dwarf_Op mem[3], *ops;
	size_t n;
	bool value;

	rule->kind = CFI_UNDEFINED;
	if (dwarf_frame_register(frame, reg, mem, &ops, &n) < 0)
		return -ENOENT;
	if (!n) {
		rule->kind = ops ? CFI_UNDEFINED : CFI_SAME;
		if (r->arch->cfi_same >> reg & 1)
			rule->kind = CFI_SAME;
		if (r->arch->cfi_undefined >> reg & 1)
			rule->kind = CFI_UNDEFINED;
		return 0;
	}
	value = ops[n - 1].atom == DW_OP_stack_value;
	n -= value;
	if (is_cfa_offset(ops, n, &rule->value)) {
		rule->kind = value ? CFI_VAL_OFFSET : CFI_OFFSET;
	} else if (!value && is_register(r->arch, ops, n, &rule->value)) {
		rule->kind = CFI_REGISTER;
	} else {
		rule->value = add_expr(r, ops, n);
		if (rule->value < 0)
			return -ENOENT;
		rule->kind = value ? CFI_VAL_EXPR : CFI_EXPR;
	}
	return 0;
}

static int read_frame(struct reader *r, Dwarf_Frame *frame)
{
	Dwarf_Addr start, end;
	int pc = (int)r->arch->pc, result;

	if (dwarf_frame_info(frame, &start, &end, &r->row->signal_frame) != pc)
		return -ENOENT;
	result = read_cfa(r, frame);
	for (int reg = 0; reg < (int)r->arch->n_regs && result == 0; reg++)
		/*
		 * An unsupported rule makes just that register unknown. But if it is the return address, this must not
		 * look like the outermost frame.
		 */
		if (read_rule(r, frame, reg, &r->row->rule[reg]) < 0 && reg == pc)
			result = -ENOENT;
	return result;
}

int cfi_read_row(Dwarf_CFI *cfi, uint64_t vaddr, struct cfi_row *row, struct cfi_exprs *exprs)
{
	struct reader r = {arch_host(), row, exprs};
	Dwarf_Frame *frame = NULL;
	int result;

	memset(row, 0, sizeof(*row));
	exprs->n = exprs->n_ops = 0;
	if (dwarf_cfi_addrframe(cfi, vaddr, &frame) < 0)
		return -ENOENT;
	result = read_frame(&r, frame);
	free(frame);
	return result;
}
