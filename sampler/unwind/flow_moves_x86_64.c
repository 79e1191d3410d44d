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

/*
 * Few instructions are worth more than the fast decoding: those of moves_sp() that can have rsp as a register operand.
 * Its number is 4, without an extension by REX (Intel SDM 2, 2.1.5 and 2.2.1.2).
 */
static bool may_move_sp(const ZydisDecodedInstruction *i)
{
	const uint8_t rsp = 4;

	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHFQ: return true;
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_AND: break;
	default: return false;
	}
	if (i->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT) /* control and debug registers, whatever modrm.mod says */
		return true;
	if (!i->raw.modrm.offset) /* which is never the first byte */
		return (i->opcode & 7) == rsp;
	return i->raw.modrm.reg == rsp || (i->raw.modrm.mod == 3 && i->raw.modrm.rm == rsp);
}

struct decoders {
	ZydisDecoder fast, full; /* fast: lengths, mnemonics and raw fields, in a third of the time */
};

static bool decoders_init(struct decoders *d)
{
	return ZYAN_SUCCESS(ZydisDecoderInit(&d->full, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
	       ZYAN_SUCCESS(ZydisDecoderInit(&d->fast, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
	       ZYAN_SUCCESS(ZydisDecoderEnableMode(&d->fast, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE));
}

/* The length of the instruction; 0: it moves rsp, or cannot be decoded. */
static uint8_t pass_insn(const struct decoders *d, const uint8_t *bytes, uint32_t n, int32_t words)
{
	struct insn in;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d->fast, NULL, bytes, n, &in.i)))
		return 0;
	if (!may_move_sp(&in.i))
		return in.i.length;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d->full, bytes, n, &in.i, in.op)) ||
	    (writes_sp(&in) && moves_sp(&in, words)))
		return 0;
	return in.i.length;
}

bool flow_moves_sp(const struct flow_options *o, uint64_t from, uint64_t to, int32_t words)
{
	uint8_t bytes[256], len;
	uint32_t n = 0, at = 0;
	struct decoders d;

	if (!decoders_init(&d))
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
