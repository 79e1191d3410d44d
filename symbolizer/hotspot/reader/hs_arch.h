#ifndef JS_HOTSPOT_HS_ARCH_H
#define JS_HOTSPOT_HS_ARCH_H

#include <stdint.h>

/*
 * The layout of HotSpot's frames on one processor, which no table exports. Offsets are in words from the frame pointer.
 * There is one file for each processor.
 */
struct hs_interp_layout {
	int sender_sp, last_sp, method, bcp, locals;
	int return_pc, saved_fp;
	/* DWARF register numbers: at a method's entry, the sender's sp and the Method*; later, the bytecode pointer. */
	uint8_t sender_sp_reg, method_reg, bcp_reg;
};

struct hotspot;

const struct hs_interp_layout *hs_interp_layout(const struct hotspot *hs);
int hs_call_wrapper_offset(const struct hotspot *hs); /* in words; of the JavaCallWrapper* in the call_stub frame */

#endif
