#include "symbolizer/target/arch.h"

#include <elf.h>

#define BIT(n) (UINT64_C(1) << (n))

/*
 * The length of an instruction that consists of opcode, ModRM, and the SIB byte and displacement that ModRM implies
 * (Intel SDM volume 2, 2.1.3 and 2.1.5; in 64-bit mode mod 0 rm 5 is rip-relative). `p` has at least 3 bytes.
 */
static size_t modrm_length(const uint8_t *p)
{
	unsigned mod = p[1] >> 6, rm = p[1] & 7;
	size_t n = 2;

	if (mod == 3)
		return n;
	if (rm == 4)
		n++;
	if (mod == 1)
		n += 1;
	else if (mod == 2 || rm == 5 || (rm == 4 && (p[2] & 7) == 5))
		n += 4;
	return n;
}

/* Recognises e8 rel32, and ff /2 in its forms of 2 to 7 bytes. A REX or other prefix before these does not matter. */
static bool ends_in_call(const uint8_t *before, size_t n)
{
	const uint8_t *end = before + n;

	if (n >= 5 && end[-5] == 0xe8)
		return true;
	for (size_t len = 2; len <= 7 && len <= n; len++) {
		uint8_t p[3] = {end[-(ptrdiff_t)len], end[1 - (ptrdiff_t)len], len > 2 ? end[2 - (ptrdiff_t)len] : 0};

		if (p[0] == 0xff && (p[1] >> 3 & 7) == 2 && modrm_length(p) == len)
			return true;
	}
	return false;
}

const struct arch arch_x86_64 = {
	.name = "x86-64",
	.n_regs = X86_REGS,
	.pc = X86_RIP,
	.sp = X86_RSP,
	.fp = X86_RBP,
	/* System V ABI AMD64 supplement, figure 3.4 */
	.callee_saved = BIT(X86_RBX) | BIT(X86_RBP) | BIT(X86_R12) | BIT(X86_R13) | BIT(X86_R14) | BIT(X86_R15),
	.call_args = {X86_RDI, X86_RSI, X86_RDX, X86_R10, X86_R8, X86_R9}, /* A.2.1 there */
	/*
	 * Documentation/arch/x86/x86_64/mm.rst. With 5-level paging a program can get higher addresses with a hint
	 * address; HotSpot does not.
	 */
	.user_limit = BIT(47),
	.elf_machine = EM_X86_64,
	.reloc_jump_slot = R_X86_64_JUMP_SLOT,
	.reloc_glob_dat = R_X86_64_GLOB_DAT,
	.reloc_irelative = R_X86_64_IRELATIVE,
	/* In its list of callee-saved registers, elfutils 0.188 has rax in place of rbx. */
	.cfi_same = BIT(X86_RBX),
	.cfi_undefined = BIT(X86_RAX),
	.ends_in_call = ends_in_call,
};
