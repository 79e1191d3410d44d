#ifndef JS_NATIVE_CFI_ROW_H
#define JS_NATIVE_CFI_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/target/regs.h"

struct mem;
struct arch;

/*
 * The call frame information in force at one pc, as a plain value (DWARF 5, section 6.4): how to compute the caller's
 * registers from the callee's. The unwinder caches rows; dso.h hides where they come from (libdw, a recording).
 */
enum cfi_rule_kind {
	CFI_SAME, /* unchanged (callee-saved and not touched) */
	CFI_UNDEFINED, /* not recoverable */
	CFI_OFFSET, /* saved at CFA + value */
	CFI_VAL_OFFSET, /* is CFA + value */
	CFI_REGISTER, /* is in register `value` */
	CFI_EXPR, /* saved at the address that expression `value` (index) computes */
	CFI_VAL_EXPR, /* is what expression `value` computes */
};

struct cfi_rule {
	uint8_t kind; /* enum cfi_rule_kind */
	int32_t value;
};

/*
 * One operation of a DWARF expression, normalised: constants are DW_OP_consts, registers are DW_OP_breg0 + n, and a
 * branch's `value` is the index of its target operation in the expression.
 */
struct cfi_op {
	uint8_t op; /* DW_OP_* */
	int64_t value;
};

enum { CFI_MAX_EXPRS = 20, CFI_MAX_OPS = 160 };

struct cfi_exprs {
	uint16_t n, n_ops;
	uint16_t start[CFI_MAX_EXPRS], len[CFI_MAX_EXPRS]; /* in `op` */
	struct cfi_op op[CFI_MAX_OPS];
};

struct cfi_row {
	bool signal_frame; /* the caller's pc is exact, since a signal interrupted it */
	bool cfa_is_expr;
	uint8_t cfa_reg; /* CFA = register + cfa_off, or expression cfa_off */
	int32_t cfa_off;
	struct cfi_rule rule[REGS_MAX]; /* by DWARF number; pc's rule is the return address */
	const struct cfi_exprs *exprs; /* NULL: none; owned by the dso's row cache */

	/* Set by cfi_row_seal(). */
	uint64_t same, computed; /* bit masks of registers */
	int32_t save_lo; /* all saved registers are in [CFA + save_lo, CFA + save_lo + save_len) */
	uint32_t save_len; /* 0: they are not close together */
};

/*
 * Checks a row and sets its derived fields; required before cfi_row_apply(). -EINVAL: the row names a register or an
 * expression that does not exist.
 */
int cfi_row_seal(struct cfi_row *row);

enum cfi_step {
	CFI_STEP_OK,
	CFI_STEP_ROOT, /* the return address is undefined: this was the outermost frame */
	CFI_STEP_BAD_MEMORY,
	CFI_STEP_BAD_ROW, /* needs an unknown register, or is invalid */
};

/*
 * Turns the callee's registers into the caller's; sp becomes the CFA unless the row has a rule for it. Registers other
 * than pc and sp that cannot be recovered become unknown. *regs is changed only on CFI_STEP_OK.
 */
enum cfi_step cfi_row_apply(const struct cfi_row *row, const struct arch *arch, struct mem *mem, struct regs *regs);

#endif
