#include <string.h>

#include "sampler/unwind/patterns.h"
#include "symbolizer/target/regs.h"

enum { MOVABS = 10 }; /* bytes of movabs r64, imm64 */

/* mov [rsp + x], rbp with x beyond the rest of the frame. */
static uint32_t saves_fp(const uint8_t *b, uint32_t n, uint32_t frame_bytes)
{
	uint32_t disp;

	if (n >= 5 && b[0] == 0x48 && b[1] == 0x89 && b[2] == 0x6c && b[3] == 0x24)
		return b[4] == frame_bytes - 8 ? 5 : 0;
	if (n < 8 || b[0] != 0x48 || b[1] != 0x89 || b[2] != 0xac || b[3] != 0x24)
		return 0;
	memcpy(&disp, b + 4, sizeof(disp));
	return disp == frame_bytes - 8 ? 8 : 0;
}

/* sub rsp, imm; a push of rbp may have made the first word. */
static uint32_t frame_made(const uint8_t *b, uint32_t n, uint32_t frame_bytes)
{
	for (uint32_t i = 0; i + 7 <= n; i++) {
		uint32_t imm = b[i + 3], len = 4;

		if (b[i] != 0x48 || (b[i + 1] != 0x81 && b[i + 1] != 0x83) || b[i + 2] != 0xec)
			continue;
		if (b[i + 1] == 0x81) {
			memcpy(&imm, b + i + 3, sizeof(imm));
			len = 7;
		}
		if (imm == frame_bytes || imm == frame_bytes - 8)
			return i + len;
	}
	return 0;
}

/* movabs rbx; jmp */
static bool is_static_call(const uint8_t *b, uint32_t n)
{
	return n >= 2 && b[0] == 0x48 && b[1] == 0xbb;
}

static bool has_syscall(const uint8_t *b, uint32_t n)
{
	return memmem(b, n, "\x0f\x05", 2) != NULL;
}

const struct patterns patterns_x86_64 = {
	/* JDK 8 to 28 on System V (stubGenerator_x86_64.cpp, call_stub_layout; disassembled on 17 and 25). */
	.stub_first = -11,
	.stub_words = 13,
	.n_stub_saved = 7,
	.stub_saved = {{X86_RBX, -7},
		       {X86_R12, -8},
		       {X86_R13, -9},
		       {X86_R14, -10},
		       {X86_R15, -11},
		       {X86_RBP, 0},
		       {X86_RIP, 1}},
	.result_reg = X86_RAX,
	.has_syscall = has_syscall,
	.saves_fp = saves_fp,
	.frame_made = frame_made,
	.is_static_call = is_static_call,
	.static_call_jump = MOVABS,
};

const struct patterns *patterns_host(void)
{
	return &patterns_x86_64;
}
