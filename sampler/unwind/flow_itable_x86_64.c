#include "sampler/unwind/flow.h"
#include "sampler/unwind/flow_insn.h"

/* The longest itable stub seen (JDK 8 to 28) has 150 bytes. */
enum { STUB_MAX = 256 };

/* What an instruction inside a stub tells about it. */
enum look { LOOK_ON, LOOK_LEFT, LOOK_ITABLE };

static enum look look_at(const ZydisDecodedInstruction *in)
{
	switch (in->meta.category) {
	case ZYDIS_CATEGORY_COND_BR: return LOOK_ITABLE;
	case ZYDIS_CATEGORY_UNCOND_BR:
		/* Only an itable stub jumps to a fixed place: where no interface was found. */
		return in->raw.imm[0].is_relative ? LOOK_ITABLE : LOOK_LEFT;
	default: return LOOK_ON;
	}
}

bool flow_is_itable(const struct flow_options *o, uint64_t pc)
{
	uint64_t room = pc >= o->lo && pc < o->hi ? o->hi - pc : 0;
	uint8_t bytes[STUB_MAX];
	uint32_t n = room ? o->fetch(o->ctx, pc, bytes, room < STUB_MAX ? (uint32_t)room : STUB_MAX) : 0;
	bool left = false;
	ZydisDecoder decoder;

	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return false;
	for (uint32_t at = 0; at < n;) {
		ZydisDecodedInstruction in;
		enum look look;

		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes + at, n - at, &in)))
			return false;
		look = look_at(&in);
		if (look == LOOK_ITABLE)
			return !left || in.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
		if (left)
			return false;
		left = look == LOOK_LEFT;
		at += in.length;
	}
	return false;
}
