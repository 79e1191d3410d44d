#include "symbolizer/hotspot/reader/hotspot_parts.h"
#include "symbolizer/hotspot/reader/jvm.h"
#include "symbolizer/target/regs.h"

/*
 * x86-64: interpreter frame slots (JDK src/hotspot/cpu/x86/frame_x86.hpp), in words from rbp. Verified on 8, 11, 17,
 * 21, 25, 26, 27, 28. JDK 9 inserted the mirror after the Method*.
 */
static const struct hs_interp_layout layout = {
	.sender_sp = -1,
	.last_sp = -2,
	.method = -3,
	.bcp = -8,
	.locals = -7,
	.return_pc = 1,
	.saved_fp = 0,
	.sender_sp_reg = X86_R13,
	.method_reg = X86_RBX,
	.bcp_reg = X86_R13,
};

enum { CALL_WRAPPER = -6 };

static bool slot_ok(struct hs_constant c)
{
	return c.ok && c.value < 0 && c.value > -64;
}

void arch_layout_init(struct jvm *jvm)
{
	jvm->interp = layout;
	jvm->interp.bcp += jvm->version.major <= 8;
	jvm->interp.locals += jvm->version.major <= 8;
	if (slot_ok(jvm->l.c.interp_sender_sp))
		jvm->interp.sender_sp = (int)jvm->l.c.interp_sender_sp.value;
	if (slot_ok(jvm->l.c.interp_last_sp))
		jvm->interp.last_sp = (int)jvm->l.c.interp_last_sp.value;
}

const struct hs_interp_layout *hs_interp_layout(const struct hotspot *hs)
{
	return &hs->jvm->interp;
}

int hs_call_wrapper_offset(const struct hotspot *hs)
{
	return slot_ok(hs->jvm->l.c.call_wrapper) ? (int)hs->jvm->l.c.call_wrapper.value : CALL_WRAPPER;
}

/*
 * JDK 21 to 24 do not export JavaThread::_cont_entry, but the return barrier begins with mov rsp, [r15 + disp32], which
 * loads it.
 */
int64_t arch_cont_entry_offset(struct jvm *jvm, uint64_t barrier)
{
	static const uint8_t load[3] = {0x49, 0x8b, 0xa7};
	uint8_t code[7];
	int32_t disp;

	if (barrier == 0 || !mem_read(jvm->mem, barrier, code, sizeof(code)) || memcmp(code, load, sizeof(load)) != 0)
		return -1;
	memcpy(&disp, code + 3, sizeof(disp));
	return disp > 0 && disp < 1 << 16 ? disp : -1;
}

/*
 * Pointers of generational ZGC (JDK src/hotspot/share/gc/z/zAddress.hpp): one of bits 12 to 15 is set, and the address
 * starts right above it. (21+, verified on 25.)
 */
int arch_z_colour(uint64_t raw, unsigned *ret_shift)
{
	for (int i = 0; i < 4; i++) {
		if ((raw >> 12 & 15) == 1u << i) {
			*ret_shift = 13 + (unsigned)i;
			return i;
		}
	}
	return -1;
}

/* Both remembered bits are set. */
bool arch_z_old_to_old(uint64_t raw)
{
	return (raw >> 4 & 3) == 3;
}
