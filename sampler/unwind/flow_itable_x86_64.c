#include "sampler/unwind/flow.h"
#include "sampler/unwind/flow_insn.h"

/* The longest itable stub seen (JDK 8 to 28) has 150 bytes. */
enum { STUB_MAX = 256 };

/* What an instruction inside a stub tells about it. */
enum itable_scan { ITABLE_CONTINUE, ITABLE_LEFT_STUB, ITABLE_FOUND };

static enum itable_scan scan_insn(const ZydisDecodedInstruction *in)
{
	switch (in->meta.category) {
	case ZYDIS_CATEGORY_COND_BR: return ITABLE_FOUND;
	case ZYDIS_CATEGORY_UNCOND_BR:
		/* Only an itable stub jumps to a fixed place: where no interface was found. */
		return in->raw.imm[0].is_relative ? ITABLE_FOUND : ITABLE_LEFT_STUB;
	default: return ITABLE_CONTINUE;
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
		enum itable_scan scan;

		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes + at, n - at, &in)))
			return false;
		scan = scan_insn(&in);
		if (scan == ITABLE_FOUND)
			return !left || in.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
		if (left)
			return false;
		left = scan == ITABLE_LEFT_STUB;
		at += in.length;
	}
	return false;
}
