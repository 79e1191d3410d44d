#ifndef JS_NATIVE_CFI_EXPR_H
#define JS_NATIVE_CFI_EXPR_H

#include <stdint.h>

#include "symbolizer/native/cfi/cfi_row.h"

/* The values that an expression may use. */
struct cfi_expr_input {
	const struct regs *regs;
	struct mem *mem;
	const uint64_t *cfa; /* NULL while the CFA itself is being computed */
};

/* Returns CFI_STEP_OK, CFI_STEP_BAD_MEMORY or CFI_STEP_BAD_ROW. Stack depth and steps are limited. */
enum cfi_step cfi_expr_eval(const struct cfi_exprs *exprs, unsigned index, const struct cfi_expr_input *in,
			    uint64_t *ret);

#endif
