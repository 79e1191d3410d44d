#include "sampler/unwind/flow.h"
#include "sampler/unwind/flow_insn.h"
#include "symbolizer/insn/insn_x86_64.h"

/* Does an instruction that belongs to no prologue or epilogue write rsp? */
static bool moves_sp(const struct insn *in, int32_t words)
{
	const ZydisDecodedOperand *op = in->op;

	switch (in->i.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
		return op[0].type != ZYDIS_OPERAND_TYPE_REGISTER || op[0].reg.value != ZYDIS_REGISTER_RBP;
	case ZYDIS_MNEMONIC_PUSHFQ: return true;
	case ZYDIS_MNEMONIC_SUB:
		return op[1].imm.value.s != (int64_t)words * 8 - 8 && op[1].imm.value.s != (int64_t)words * 8 - 16;
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_AND: return true;
	default: return false;
	}
}

static bool writes_sp(const struct insn *in)
{
	if (in->i.mnemonic == ZYDIS_MNEMONIC_PUSH || in->i.mnemonic == ZYDIS_MNEMONIC_PUSHFQ)
		return true;
	return in->i.operand_count && insn_is_reg64(&in->op[0]) && in->op[0].reg.value == ZYDIS_REGISTER_RSP;
}

/*
 * Few instructions are worth more than a look at their fields: those of moves_sp() that can have rsp as a register operand.
 * Its number is 4, without an extension by REX (Intel SDM 2, 2.1.5, 2.2.1.2, and appendix A).
 */
static bool may_move_sp(const struct insn_fields *f)
{
	const uint8_t rsp = 4;

	if (f->map != INSN_MAP_DEFAULT)
		return false;
	switch (f->opcode) {
	case 0x68: /* push */
	case 0x6a:
	case 0x9c: /* pushfq */
	case 0xff: return true;
	case 0x21: /* and */
	case 0x23:
	case 0x29: /* sub */
	case 0x2b:
	case 0x81: /* and, sub, and others */
	case 0x83:
	case 0x89: /* mov */
	case 0x8b:
	case 0xc7:
	case 0x8d: /* lea */ return (f->reg == rsp && !f->rex_r) || (f->mod == 3 && f->rm == rsp && !f->rex_b);
	default: /* push; mov rsp */ return (f->opcode & 0xf8) == 0x50 || (f->opcode == (0xb8 | rsp) && !f->rex_b);
	}
}

/* The length of the instruction; 0: it moves rsp, or cannot be decoded. */
static uint8_t pass_insn(const ZydisDecoder *d, const uint8_t *bytes, uint32_t n, int32_t words)
{
	struct insn_fields f;
	struct insn in;

	if (insn_fields_take(bytes, n, &f) && !may_move_sp(&f))
		return f.len;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(d, bytes, n, &in.i, in.op)) ||
	    (writes_sp(&in) && moves_sp(&in, words)))
		return 0;
	return in.i.length;
}

bool flow_moves_sp(const struct flow_options *o, uint64_t from, uint64_t to, int32_t words)
{
	uint8_t bytes[256], len;
	uint32_t n = 0, at = 0;
	ZydisDecoder d;

	if (!ZYAN_SUCCESS(ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return true;
	for (; from < to; from += len, at += len) {
		if (n - at < MAX_INSN) {
			n = o->fetch(o->ctx, from, bytes,
				     (uint32_t)(to - from < sizeof(bytes) ? to - from : sizeof(bytes)));
			at = 0;
		}
		len = n == at ? 0 : pass_insn(&d, bytes + at, n - at, words);
		if (!len)
			return true;
	}
	return false;
}
