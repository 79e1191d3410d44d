#ifndef JS_TARGET_REGS_H
#define JS_TARGET_REGS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * User registers of one thread, indexed by the processor's DWARF register numbers. A register whose bit in `known` is
 * clear has no meaning; in outer frames most registers cannot be recovered.
 */
enum { REGS_MAX = 33 };

struct regs {
	uint64_t r[REGS_MAX];
	uint64_t known;
};

/* DWARF numbers on x86-64 (System V ABI AMD64 supplement, figure 3.36). */
enum {
	X86_RAX,
	X86_RDX,
	X86_RCX,
	X86_RBX,
	X86_RSI,
	X86_RDI,
	X86_RBP,
	X86_RSP,
	X86_R8,
	X86_R9,
	X86_R10,
	X86_R11,
	X86_R12,
	X86_R13,
	X86_R14,
	X86_R15,
	X86_RIP,
	X86_REGS
};

static inline bool regs_known(const struct regs *r, unsigned reg)
{
	return reg < REGS_MAX && (r->known >> reg & 1);
}

static inline void regs_set(struct regs *r, unsigned reg, uint64_t value)
{
	r->r[reg] = value;
	r->known |= UINT64_C(1) << reg;
}

static inline void regs_forget(struct regs *r, unsigned reg)
{
	r->known &= ~(UINT64_C(1) << reg);
}

#endif
