#include "symbolizer/attribution/decode/decode.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/insn/insn_x86_64.h"

/*
 * What insn_fields_take() leaves out is decoded by Zydis, whose minimal mode gives the same fields. Branches are classified
 * by opcode (Intel SDM 2, appendix A).
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

struct insn {
	struct insn_fields f;
	bool legacy; /* neither VEX nor EVEX */
};

static uint8_t map_of(ZydisOpcodeMap m)
{
	switch (m) {
	case ZYDIS_OPCODE_MAP_DEFAULT: return INSN_MAP_DEFAULT;
	case ZYDIS_OPCODE_MAP_0F: return INSN_MAP_0F;
	case ZYDIS_OPCODE_MAP_0F38: return INSN_MAP_0F38;
	default: return INSN_MAP_OTHER;
	}
}

/* raw.modrm.offset is 0 if there is no ModRM byte, since it is never the first byte. */
static bool take_by_zydis(const struct decoder *d, const uint8_t *bytes, uint32_t n, struct insn *ret)
{
	ZydisDecodedInstruction z;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d->zydis, NULL, bytes, n, &z)))
		return false;
	ret->legacy = z.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
	ret->f = (struct insn_fields){
		.len = z.length,
		.map = map_of(z.opcode_map),
		.opcode = z.opcode,
		.rex_w = z.raw.rex.W,
		.rex_r = z.raw.rex.R,
		.rex_b = z.raw.rex.B,
		.has_modrm = z.raw.modrm.offset,
		.mod = z.raw.modrm.mod,
		.reg = z.raw.modrm.reg,
		.rm = z.raw.modrm.rm,
		.has_sib = z.raw.sib.offset,
		.base = z.raw.sib.base,
		.disp = (int32_t)z.raw.disp.value,
		.imm_bits = z.raw.imm[0].size,
		.imm = z.raw.imm[0].value.s,
	};
	return true;
}

static bool take_insn(const struct decoder *d, const uint8_t *bytes, uint32_t n, struct insn *ret)
{
	ret->legacy = true;
	return insn_fields_take(bytes, n, &ret->f) || take_by_zydis(d, bytes, n, ret);
}

static enum insn_class class_one_byte(const struct insn_fields *f)
{
	uint8_t op = f->opcode, reg = f->reg;

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

static enum insn_class insn_classify(const struct insn *in)
{
	if (!in->legacy)
		return INSN_OTHER;
	if (in->f.map == INSN_MAP_DEFAULT)
		return class_one_byte(&in->f);
	if (in->f.map == INSN_MAP_0F)
		return class_two_bytes(in->f.opcode);
	return INSN_OTHER;
}

/* sqrt, add, mul, sub, div, and the fused ones of VEX and EVEX, scalar and packed. */
static bool is_floating(const struct insn *in)
{
	uint8_t op = in->f.opcode, low = op & 0xf;

	if (in->f.map == INSN_MAP_0F)
		return op == 0x51 || op == 0x58 || op == 0x59 || op == 0x5c || op == 0x5e;
	return in->f.map == INSN_MAP_0F38 && !in->legacy && low >= 6 &&
	       (op >> 4 == 0x9 || op >> 4 == 0xa || op >> 4 == 0xb);
}

/* mov r64, imm64: B8 + register. */
static void take_constant(const struct insn_fields *f, struct decoded *ret)
{
	if (f->map != INSN_MAP_DEFAULT || (f->opcode & 0xf8) != 0xb8 || !f->rex_w)
		return;
	ret->has_constant = true;
	ret->constant = (uint64_t)f->imm;
	ret->reg = (int8_t)((f->opcode & 7) | f->rex_b << 3);
}

/* mov esi, imm32: rsi is j_rarg0 (assembler_x86.hpp). */
static void take_argument(const struct insn_fields *f, struct decoded *ret)
{
	if (f->map != INSN_MAP_DEFAULT || f->opcode != 0xbe || f->rex_w || f->rex_b || f->imm_bits != 32)
		return;
	ret->has_argument = true;
	ret->argument = (int32_t)f->imm;
}

/* cmp r32, imm32 and cmp r64, imm32. Loops whose limit fits into a shorter constant are too brief to matter. */
static void take_limit(const struct insn_fields *f, struct decoded *ret)
{
	bool any = f->opcode == 0x81 && f->reg == 7 && f->mod == 3;

	if (f->map != INSN_MAP_DEFAULT || !(any || f->opcode == 0x3d) || f->imm_bits != 32)
		return;
	ret->has_limit = true;
	ret->limit = (int32_t)f->imm;
}

bool decode_insn(const struct decoder *d, const uint8_t *bytes, uint32_t n_bytes, uint32_t at, struct decoded *ret)
{
	const struct insn_fields *f;
	struct insn in;
	int64_t next;

	if (at >= n_bytes || !take_insn(d, bytes + at, n_bytes - at, &in))
		return false;
	f = &in.f;
	memset(ret, 0, sizeof(*ret));
	ret->len = f->len;
	ret->class = insn_classify(&in);
	next = (int64_t)at + f->len;
	ret->memory = f->has_modrm && f->mod != 3;
	ret->frame = ret->memory && f->has_sib && f->base == 4 && !f->rex_b;
	ret->floating = is_floating(&in);
	ret->reg = -1;
	switch (ret->class) {
	case INSN_CALL:
	case INSN_JCC:
	case INSN_JMP: ret->target = next + f->imm; break;
	case INSN_OTHER:
		ret->has_address = f->opcode == 0x8d && f->map == INSN_MAP_DEFAULT && f->mod == 0 && f->rm == 5;
		ret->address = next + f->disp;
		take_constant(f, ret);
		take_argument(f, ret);
		take_limit(f, ret);
		break;
	case INSN_CALL_INDIRECT:
		if (f->mod == 3)
			ret->reg = (int8_t)(f->rm | f->rex_b << 3);
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
