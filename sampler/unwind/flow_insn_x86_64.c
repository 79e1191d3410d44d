#include "sampler/unwind/flow_insn.h"

int insn_dwarf_reg(ZydisRegister r)
{
	static const uint8_t map[16] = {
		X86_RAX, X86_RCX, X86_RDX, X86_RBX, X86_RSP, X86_RBP, X86_RSI, X86_RDI,
		X86_R8,  X86_R9,  X86_R10, X86_R11, X86_R12, X86_R13, X86_R14, X86_R15,
	};
	ZydisRegister full = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);

	if (full < ZYDIS_REGISTER_RAX || full > ZYDIS_REGISTER_R15)
		return -1;
	return map[full - ZYDIS_REGISTER_RAX];
}

bool insn_is_reg64(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER && op->size == 64 && op->reg.value >= ZYDIS_REGISTER_RAX &&
	       op->reg.value <= ZYDIS_REGISTER_R15;
}

bool insn_is_imm(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

struct flow_val insn_addr(const struct flow_state *s, const ZydisDecodedOperand *op)
{
	int base = insn_dwarf_reg(op->mem.base);

	if (base < 0 || op->mem.index != ZYDIS_REGISTER_NONE || op->mem.segment == ZYDIS_REGISTER_FS ||
	    op->mem.segment == ZYDIS_REGISTER_GS)
		return (struct flow_val){0};
	return flow_val_add(s->reg[base], op->mem.disp.has_displacement ? op->mem.disp.value : 0);
}

struct flow_val insn_value(const struct flow_state *s, const ZydisDecodedOperand *op)
{
	if (insn_is_reg64(op))
		return s->reg[insn_dwarf_reg(op->reg.value)];
	if (op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->size == 64)
		return flow_load(s, insn_addr(s, op));
	return (struct flow_val){0};
}

void insn_clobber(struct flow_state *s, const struct insn *in)
{
	for (unsigned i = 0; i < in->i.operand_count; i++) {
		const ZydisDecodedOperand *op = &in->op[i];
		int reg;

		if (!(op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (op->type == ZYDIS_OPERAND_TYPE_REGISTER) {
			reg = insn_dwarf_reg(op->reg.value);
			if (reg >= 0)
				s->reg[reg] = (struct flow_val){0};
		} else if (op->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			struct flow_val addr = insn_addr(s, op);

			if (op->size == 64)
				flow_store(s, addr, (struct flow_val){0});
			for (unsigned b = 0; b < op->size / 8u && b < 64; b += 8)
				flow_forget(s, flow_val_add(addr, b));
		}
	}
}

static void do_mov(struct flow_state *s, const struct insn *in)
{
	const ZydisDecodedOperand *dst = &in->op[0];
	struct flow_val v = insn_value(s, &in->op[1]);

	if (!insn_is_reg64(dst) && !(dst->type == ZYDIS_OPERAND_TYPE_MEMORY && dst->size == 64)) {
		insn_clobber(s, in);
		return;
	}
	if (dst->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		flow_store(s, insn_addr(s, dst), v);
		return;
	}
	s->reg[insn_dwarf_reg(dst->reg.value)] = v;
	if (dst->reg.value == ZYDIS_REGISTER_RBP && insn_is_reg64(&in->op[1]) &&
	    in->op[1].reg.value == ZYDIS_REGISTER_RSP)
		s->frame = v;
}

/* add, sub: a register and a constant. */
static void do_add(struct flow_state *s, const struct insn *in, int sign)
{
	int reg;

	if (!insn_is_reg64(&in->op[0]) || !insn_is_imm(&in->op[1])) {
		insn_clobber(s, in);
		return;
	}
	reg = insn_dwarf_reg(in->op[0].reg.value);
	s->reg[reg] = flow_val_add(s->reg[reg], sign * in->op[1].imm.value.s);
}

static void do_lea(struct flow_state *s, const struct insn *in)
{
	struct flow_val v;

	if (!insn_is_reg64(&in->op[0])) {
		insn_clobber(s, in);
		return;
	}
	v = insn_addr(s, &in->op[1]);
	s->reg[insn_dwarf_reg(in->op[0].reg.value)] = v;
}

/* An aligned stack pointer is a base of its own: unknown, but what is pushed on it can be popped. */
static void do_and(struct flow_state *s, const struct insn *in)
{
	if (insn_is_reg64(&in->op[0]) && in->op[0].reg.value == ZYDIS_REGISTER_RSP && insn_is_imm(&in->op[1]) &&
	    s->n_aligned < 8) {
		s->reg[X86_RSP] = (struct flow_val){FLOW_REG, (uint8_t)(FLOW_ALIGNED + s->n_aligned++), 0, 0, 0};
		return;
	}
	insn_clobber(s, in);
}

static void do_xchg(struct flow_state *s, const struct insn *in)
{
	int a, b;
	struct flow_val t;

	if (!insn_is_reg64(&in->op[0]) || !insn_is_reg64(&in->op[1])) {
		insn_clobber(s, in);
		return;
	}
	a = insn_dwarf_reg(in->op[0].reg.value);
	b = insn_dwarf_reg(in->op[1].reg.value);
	t = s->reg[a];
	s->reg[a] = s->reg[b];
	s->reg[b] = t;
}

static void do_pop(struct flow_state *s, const struct insn *in)
{
	struct flow_val v = flow_pop(s);

	if (insn_is_reg64(&in->op[0])) {
		s->popped = (int8_t)insn_dwarf_reg(in->op[0].reg.value);
		s->popped_sp = s->reg[X86_RSP];
		s->reg[s->popped] = v;
	}
	if (in->op[0].type == ZYDIS_OPERAND_TYPE_MEMORY)
		flow_store(s, insn_addr(s, &in->op[0]), v); /* addressed by the new rsp */
}

static void do_leave(struct flow_state *s)
{
	s->reg[X86_RSP] = s->reg[X86_RBP];
	s->reg[X86_RBP] = flow_pop(s);
}

bool insn_do_data(struct flow_state *s, const struct insn *in)
{
	switch (in->i.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH: flow_push(s, insn_value(s, &in->op[0])); return true;
	case ZYDIS_MNEMONIC_POP: do_pop(s, in); return true;
	case ZYDIS_MNEMONIC_PUSHFQ: flow_push(s, (struct flow_val){0}); return true;
	case ZYDIS_MNEMONIC_POPFQ: flow_pop(s); return true;
	case ZYDIS_MNEMONIC_MOV: do_mov(s, in); return true;
	case ZYDIS_MNEMONIC_LEA: do_lea(s, in); return true;
	case ZYDIS_MNEMONIC_ADD: do_add(s, in, 1); return true;
	case ZYDIS_MNEMONIC_SUB: do_add(s, in, -1); return true;
	case ZYDIS_MNEMONIC_AND: do_and(s, in); return true;
	case ZYDIS_MNEMONIC_XCHG: do_xchg(s, in); return true;
	case ZYDIS_MNEMONIC_LEAVE: do_leave(s); return true;
	default: return false;
	}
}
