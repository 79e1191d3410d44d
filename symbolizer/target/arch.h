#ifndef JS_TARGET_ARCH_H
#define JS_TARGET_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/target/regs.h"

/*
 * What the ABI of one processor defines. There is one const struct and one file for each processor; so far only
 * arch_x86_64.c. HotSpot's frame layouts are in hs_arch.h, the kernel's register layouts in regs_host.h, since the
 * three change at different rates.
 */
struct arch {
	const char *name;
	unsigned n_regs;
	unsigned pc, sp, fp; /* DWARF register numbers */
	uint64_t callee_saved; /* bit mask: a call preserves these */
	uint8_t call_args[6]; /* argument registers of a system call */
	uint64_t user_limit; /* first address that user space never has */

	uint16_t elf_machine; /* EM_* */
	uint32_t reloc_jump_slot, reloc_glob_dat, reloc_irelative; /* R_* */
	/*
	 * Bit masks of the registers that libdw wrongly treats as changed, or as preserved, by a call if no rule
	 * mentions them.
	 */
	uint64_t cfi_same, cfi_undefined;

	/*
	 * Do the `n` bytes at `before`, which precede a return address, end in a call instruction? On x86-64, n must be
	 * at least 7.
	 */
	bool (*ends_in_call)(const uint8_t *before, size_t n);
};

extern const struct arch arch_x86_64;

/* The processor this program runs on. */
const struct arch *arch_host(void);

static inline uint64_t arch_pc(const struct arch *a, const struct regs *r)
{
	return r->r[a->pc];
}

static inline uint64_t arch_sp(const struct arch *a, const struct regs *r)
{
	return r->r[a->sp];
}

#endif
