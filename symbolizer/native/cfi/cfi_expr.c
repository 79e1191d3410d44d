#include "symbolizer/native/cfi/cfi_expr.h"

#include <dwarf.h>
#include <string.h>

#include "symbolizer/target/mem.h"

enum { STACK_MAX = 32, STEPS_MAX = 512 };

struct machine {
	uint64_t stack[STACK_MAX];
	unsigned n;
	bool bad; /* underflow, overflow, or an unknown operation */
};

static void push(struct machine *m, uint64_t v)
{
	if (m->n < STACK_MAX)
		m->stack[m->n++] = v;
	else
		m->bad = true;
}

static uint64_t pop(struct machine *m)
{
	if (m->n)
		return m->stack[--m->n];
	m->bad = true;
	return 0;
}

/* Pushes the value that is `depth` entries below the top. */
static void push_copy(struct machine *m, uint64_t depth)
{
	if (depth < m->n)
		push(m, m->stack[m->n - 1 - depth]);
	else
		m->bad = true;
}

static void swap(struct machine *m)
{
	uint64_t a = pop(m), b = pop(m);

	push(m, a);
	push(m, b);
}

/* DW_OP_rot: the top entry becomes the third. DWARF 5, section 2.5.1.3. */
static void rotate(struct machine *m)
{
	uint64_t a = pop(m), b = pop(m), c = pop(m);

	push(m, a);
	push(m, c);
	push(m, b);
}

static uint64_t divide(struct machine *m, uint64_t a, uint64_t b)
{
	if (!b || (a == (uint64_t)INT64_MIN && b == UINT64_MAX)) {
		m->bad = true;
		return 0;
	}
	return (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t modulo(struct machine *m, uint64_t a, uint64_t b)
{
	if (!b) {
		m->bad = true;
		return 0;
	}
	return a % b;
}

static uint64_t shift_right_signed(uint64_t a, uint64_t b)
{
	if (b >= 64)
		return (int64_t)a < 0 ? UINT64_MAX : 0;
	return (uint64_t)((int64_t)a >> b);
}

static void binary(struct machine *m, uint8_t op)
{
	uint64_t b = pop(m), a = pop(m), r = 0;

	switch (op) {
	case DW_OP_and: r = a & b; break;
	case DW_OP_or: r = a | b; break;
	case DW_OP_xor: r = a ^ b; break;
	case DW_OP_plus: r = a + b; break;
	case DW_OP_minus: r = a - b; break;
	case DW_OP_mul: r = a * b; break;
	case DW_OP_div: r = divide(m, a, b); break;
	case DW_OP_mod: r = modulo(m, a, b); break;
	case DW_OP_shl: r = b < 64 ? a << b : 0; break;
	case DW_OP_shr: r = b < 64 ? a >> b : 0; break;
	case DW_OP_shra: r = shift_right_signed(a, b); break;
	case DW_OP_eq: r = a == b; break;
	case DW_OP_ne: r = a != b; break;
	case DW_OP_lt: r = (int64_t)a < (int64_t)b; break;
	case DW_OP_le: r = (int64_t)a <= (int64_t)b; break;
	case DW_OP_gt: r = (int64_t)a > (int64_t)b; break;
	case DW_OP_ge: r = (int64_t)a >= (int64_t)b; break;
	default: m->bad = true;
	}
	push(m, r);
}

static void unary(struct machine *m, const struct cfi_op *op)
{
	uint64_t a = pop(m);

	switch (op->op) {
	case DW_OP_abs: push(m, (int64_t)a < 0 ? -a : a); break;
	case DW_OP_neg: push(m, -a); break;
	case DW_OP_not: push(m, ~a); break;
	case DW_OP_plus_uconst: push(m, a + (uint64_t)op->value); break;
	default: m->bad = true;
	}
}

static bool deref(struct machine *m, struct mem *mem, uint64_t size)
{
	uint64_t v = 0;

	if (!size || size > sizeof(v) || !mem) {
		m->bad = true;
		return true;
	}
	if (!mem_read(mem, pop(m), &v, size))
		return false;
	push(m, v);
	return true;
}

static void push_register(struct machine *m, const struct cfi_expr_input *in, const struct cfi_op *op)
{
	unsigned reg = op->op - DW_OP_breg0;

	if (regs_known(in->regs, reg))
		push(m, in->regs->r[reg] + (uint64_t)op->value);
	else
		m->bad = true;
}

/* false: memory could not be read. */
static bool execute(struct machine *m, const struct cfi_expr_input *in, const struct cfi_op *op)
{
	if (op->op >= DW_OP_breg0 && op->op <= DW_OP_breg31) {
		push_register(m, in, op);
		return true;
	}
	switch (op->op) {
	case DW_OP_nop: break;
	case DW_OP_consts: push(m, (uint64_t)op->value); break;
	case DW_OP_dup: push_copy(m, 0); break;
	case DW_OP_over: push_copy(m, 1); break;
	case DW_OP_pick: push_copy(m, (uint64_t)op->value); break;
	case DW_OP_drop: pop(m); break;
	case DW_OP_swap: swap(m); break;
	case DW_OP_rot: rotate(m); break;
	case DW_OP_deref: return deref(m, in->mem, 8);
	case DW_OP_deref_size: return deref(m, in->mem, (uint64_t)op->value);
	case DW_OP_abs:
	case DW_OP_neg:
	case DW_OP_not:
	case DW_OP_plus_uconst: unary(m, op); break;
	case DW_OP_call_frame_cfa:
		if (in->cfa)
			push(m, *in->cfa);
		else
			m->bad = true;
		break;
	default: binary(m, op->op);
	}
	return true;
}

enum cfi_step cfi_expr_eval(const struct cfi_exprs *exprs, unsigned index, const struct cfi_expr_input *in,
			    uint64_t *ret)
{
	struct machine m;
	const struct cfi_op *ops;
	unsigned len, i = 0, steps = 0;

	if (!exprs || index >= exprs->n)
		return CFI_STEP_BAD_ROW;
	m.n = 0;
	m.bad = false;
	ops = &exprs->op[exprs->start[index]];
	len = exprs->len[index];
	while (i < len && !m.bad && steps++ < STEPS_MAX) {
		const struct cfi_op *op = &ops[i++];

		if (op->op == DW_OP_skip || (op->op == DW_OP_bra && pop(&m)))
			i = op->value >= 0 && op->value <= len ? (unsigned)op->value : len + 1;
		else if (op->op != DW_OP_bra && !execute(&m, in, op))
			return CFI_STEP_BAD_MEMORY;
	}
	if (i != len || m.bad || !m.n)
		return CFI_STEP_BAD_ROW;
	*ret = m.stack[m.n - 1];
	return CFI_STEP_OK;
}
