#include "symbolizer/attribution/decode/decode.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

/*
 * The minimal mode of Zydis gives length, mnemonic and the raw fields. This is enough, and takes a third of the time of
 * a full decode. Branches are classified by opcode (Intel SDM 2, appendix A).
 */
struct decoder {
	ZydisDecoder zydis;
};

struct decoder *decoder_new(void)
{
	struct decoder *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&d->zydis, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderEnableMode(&d->zydis, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE))) {
		free(d);
		return NULL;
	}
	return d;
}

void decoder_free(struct decoder *d)
{
	free(d);
}

static enum insn_class class_one_byte(const ZydisDecodedInstruction *z)
{
	uint8_t op = z->opcode, reg = z->raw.modrm.reg;

	if (op == 0xe8)
		return INSN_CALL;
	if (op == 0xe9 || op == 0xeb)
		return INSN_JMP;
	if ((op >= 0x70 && op <= 0x7f) || (op >= 0xe0 && op <= 0xe3))
		return INSN_JCC;
	if (op == 0xc2 || op == 0xc3 || op == 0xca || op == 0xcb || op == 0xcf)
		return INSN_RET;
	if (op == 0xf4 || op == 0xcc || op == 0xf1)
		return INSN_STOP;
	if (op == 0xff && (reg == 2 || reg == 3))
		return INSN_CALL_INDIRECT;
	if (op == 0xff && (reg == 4 || reg == 5))
		return INSN_JMP_INDIRECT;
	return INSN_OTHER;
}

static enum insn_class class_two_bytes(uint8_t op)
{
	if (op >= 0x80 && op <= 0x8f)
		return INSN_JCC;
	/* ud2, ud1, ud0 */
	if (op == 0x0b || op == 0xb9 || op == 0xff)
		return INSN_STOP;
	return INSN_OTHER;
}

static enum insn_class insn_classify(const ZydisDecodedInstruction *z)
{
	if (z->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		return INSN_OTHER;
	if (z->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT)
		return class_one_byte(z);
	if (z->opcode_map == ZYDIS_OPCODE_MAP_0F)
		return class_two_bytes(z->opcode);
	return INSN_OTHER;
}

/* sqrt, add, mul, sub, div, and the fused ones of VEX and EVEX, scalar and packed. */
static bool is_floating(const ZydisDecodedInstruction *z)
{
	uint8_t op = z->opcode, low = op & 0xf;

	if (z->opcode_map == ZYDIS_OPCODE_MAP_0F)
		return op == 0x51 || op == 0x58 || op == 0x59 || op == 0x5c || op == 0x5e;
	return z->opcode_map == ZYDIS_OPCODE_MAP_0F38 && z->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY && low >= 6 &&
	       (op >> 4 == 0x9 || op >> 4 == 0xa || op >> 4 == 0xb);
}

/* mov r64, imm64: B8 + register. */
static void take_constant(const ZydisDecodedInstruction *z, struct decoded *ret)
{
	if (z->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT || (z->opcode & 0xf8) != 0xb8 || !z->raw.rex.W)
		return;
	ret->has_constant = true;
	ret->constant = z->raw.imm[0].value.u;
	ret->reg = (int8_t)((z->opcode & 7) | z->raw.rex.B << 3);
}

/* mov esi, imm32: rsi is j_rarg0 (assembler_x86.hpp). */
static void take_argument(const ZydisDecodedInstruction *z, struct decoded *ret)
{
	if (z->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT || z->opcode != 0xbe || z->raw.rex.W || z->raw.rex.B ||
	    z->raw.imm[0].size != 32)
		return;
	ret->has_argument = true;
	ret->argument = (int32_t)(uint32_t)z->raw.imm[0].value.u;
}

/* cmp r32, imm32 and cmp r64, imm32. Loops whose limit fits into a shorter constant are too brief to matter. */
static void take_limit(const ZydisDecodedInstruction *z, struct decoded *ret)
{
	bool any = z->opcode == 0x81 && z->raw.modrm.reg == 7 && z->raw.modrm.mod == 3;

	if (z->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT || !(any || z->opcode == 0x3d) || z->raw.imm[0].size != 32)
		return;
	ret->has_limit = true;
	ret->limit = (int32_t)(uint32_t)z->raw.imm[0].value.u;
}

bool decode_insn(const struct decoder *d, const uint8_t *bytes, uint32_t n_bytes, uint32_t at, struct decoded *ret)
{
	ZydisDecodedInstruction z;
	int64_t next;

	if (at >= n_bytes ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d->zydis, NULL, bytes + at, n_bytes - at, &z)))
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->len = z.length;
	ret->class = insn_classify(&z);
	next = (int64_t)at + z.length;
	/* raw.modrm.offset is 0 if there is no ModRM byte, since it is never the first byte. */
	ret->memory = z.raw.modrm.offset && z.raw.modrm.mod != 3;
	ret->frame = ret->memory && z.raw.modrm.rm == 4 && z.raw.sib.base == 4 && !z.raw.rex.B;
	ret->floating = is_floating(&z);
	ret->reg = -1;
	switch (ret->class) {
	case INSN_CALL:
	case INSN_JCC:
	case INSN_JMP: ret->target = next + z.raw.imm[0].value.s; break;
	case INSN_OTHER:
		ret->has_address = z.opcode == 0x8d && z.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
				   z.raw.modrm.mod == 0 && z.raw.modrm.rm == 5;
		ret->address = next + z.raw.disp.value;
		take_constant(&z, ret);
		take_argument(&z, ret);
		take_limit(&z, ret);
		break;
	case INSN_CALL_INDIRECT:
		if (z.raw.modrm.mod == 3)
			ret->reg = (int8_t)(z.raw.modrm.rm | z.raw.rex.B << 3);
		break;
	}
	return true;
}

bool bytes_end_in_call(const uint8_t *bytes, uint32_t at)
{
	if (at >= 5 && bytes[at - 5] == 0xe8)
		return true;
	/* ff /2 has 2 (register), 3 (disp8), 4 (SIB), 6 (disp32) or 7 bytes, without a REX prefix */
	for (uint32_t len = 2; len <= 7 && len <= at; len++)
		if (bytes[at - len] == 0xff && (bytes[at - len + 1] & 0x38) == 0x10)
			return true;
	return false;
}
