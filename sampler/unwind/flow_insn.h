#ifndef JS_UNWIND_FLOW_INSN_H
#define JS_UNWIND_FLOW_INSN_H

#include <Zydis/Zydis.h>
#include <stdbool.h>

#include "sampler/unwind/flow_state_x86_64.h"

/* What one x86-64 instruction does to registers and stack slots. Internal to flow_*_x86_64.c. */
enum { MAX_INSN = 15 };

struct insn {
	ZydisDecodedInstruction i;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

/* DWARF number of the general register that contains `r`; -1: another kind of register. */
int insn_dwarf_reg(ZydisRegister r);
bool insn_is_reg64(const ZydisDecodedOperand *op);
bool insn_is_imm(const ZydisDecodedOperand *op);

/* FLOW_UNKNOWN for anything but base + displacement. */
struct flow_val insn_addr(const struct flow_state *s, const ZydisDecodedOperand *op);
struct flow_val insn_value(const struct flow_state *s, const ZydisDecodedOperand *op);

/* Executes an instruction that moves values between registers and stack. False: it is not one. */
bool insn_do_data(struct flow_state *s, const struct insn *in);

/* Makes everything that the instruction writes unknown. */
void insn_clobber(struct flow_state *s, const struct insn *in);

#endif
