#include "sampler/unwind/flow.h"
#include "sampler/unwind/flow_insn.h"

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

/* Only the operands of these are worth decoding. */
static bool may_move_sp(ZydisMnemonic m)
{
	return m == ZYDIS_MNEMONIC_PUSH || m == ZYDIS_MNEMONIC_PUSHFQ || m == ZYDIS_MNEMONIC_SUB ||
	       m == ZYDIS_MNEMONIC_LEA || m == ZYDIS_MNEMONIC_MOV || m == ZYDIS_MNEMONIC_AND;
}

bool flow_moves_sp(const struct flow_options *o, uint64_t from, uint64_t to, int32_t words)
{
	uint8_t bytes[256];
	uint32_t n = 0, at = 0;
	ZydisDecoder decoder;

	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return true;

	while (from < to) {
		ZydisDecoderContext context;
		struct insn in;

		if (n - at < MAX_INSN) {
			n = o->fetch(o->ctx, from, bytes,
				     (uint32_t)(to - from < sizeof(bytes) ? to - from : sizeof(bytes)));
			at = 0;
		}
		if (n == at ||
		    !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, &context, bytes + at, n - at, &in.i)))
			return true;
		if (may_move_sp(in.i.mnemonic) &&
		    ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder, &context, &in.i, in.op, in.i.operand_count)) &&
		    writes_sp(&in) && moves_sp(&in, words))
			return true;
		from += in.i.length;
		at += in.i.length;
	}
	return false;
}
