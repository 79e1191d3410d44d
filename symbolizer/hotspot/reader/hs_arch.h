#ifndef JS_HOTSPOT_HS_ARCH_H
#define JS_HOTSPOT_HS_ARCH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What HotSpot's frames look like on one processor and JDK range: the facts that no table exports
 * (hotspot.md 5.2, 7.1). Offsets in words from the frame pointer. One file per processor.
 */
struct hs_interp_layout {
	int sender_sp, last_sp, method, bcp, locals;
	int return_pc, saved_fp;
	/* DWARF numbers: of the sender's sp and the Method* at a method's entry; of the bytecode pointer behind it. */
	uint8_t sender_sp_reg, method_reg, bcp_reg;
};

struct hotspot;

const struct hs_interp_layout *hs_interp_layout(const struct hotspot *hs);
int hs_call_wrapper_offset(const struct hotspot *hs); /* words, JavaCallWrapper* in the call_stub frame */

#endif
