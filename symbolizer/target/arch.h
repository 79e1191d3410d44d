#ifndef JS_TARGET_ARCH_H
#define JS_TARGET_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/target/regs.h"

/*
 * What the ABI of one processor says. One const struct per processor, one file per processor
 * (arch_x86_64.c is the only filling). HotSpot's frame layouts are hs_arch.h, kernel register
 * layouts are regs_host.h: three kinds of knowledge with three rates of change.
 */
struct arch {
	const char *name;
	unsigned n_regs;
	unsigned pc, sp, fp; /* DWARF register numbers */
	uint64_t callee_saved; /* bit mask: a call preserves these */
	uint8_t call_args[6]; /* registers of a system call's arguments */
	uint64_t user_limit; /* first address that user space never has */

	uint16_t elf_machine; /* EM_* */
	uint32_t reloc_jump_slot, reloc_glob_dat, reloc_irelative; /* R_* */
	/* Bit masks of registers of which libdw says by mistake that a call changes, or preserves, them unless a rule says
	 * otherwise. */
	uint64_t cfi_same, cfi_undefined;

	/* Do the bytes before a return address end in a call instruction? `before` holds the `n`
	 * bytes (at least 7 on x86-64) in front of it. */
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
