#include "symbolizer/target/regs_host.h"

#include <asm/perf_regs.h>
#include <sys/user.h>

#if !defined(__x86_64__)
#error "no register layout for this processor"
#endif

/* DWARF number by the kernel's number; the record has them in this order. */
static const struct {
	uint8_t perf, dwarf;
} layout[] = {
	{PERF_REG_X86_AX, X86_RAX},  {PERF_REG_X86_BX, X86_RBX},  {PERF_REG_X86_CX, X86_RCX},
	{PERF_REG_X86_DX, X86_RDX},  {PERF_REG_X86_SI, X86_RSI},  {PERF_REG_X86_DI, X86_RDI},
	{PERF_REG_X86_BP, X86_RBP},  {PERF_REG_X86_SP, X86_RSP},  {PERF_REG_X86_IP, X86_RIP},
	{PERF_REG_X86_R8, X86_R8},   {PERF_REG_X86_R9, X86_R9},   {PERF_REG_X86_R10, X86_R10},
	{PERF_REG_X86_R11, X86_R11}, {PERF_REG_X86_R12, X86_R12}, {PERF_REG_X86_R13, X86_R13},
	{PERF_REG_X86_R14, X86_R14}, {PERF_REG_X86_R15, X86_R15},
};

enum { LAYOUT_N = sizeof(layout) / sizeof(layout[0]) };

uint64_t regs_host_perf_mask(void)
{
	uint64_t mask = 0;

	for (unsigned i = 0; i < LAYOUT_N; i++)
		mask |= UINT64_C(1) << layout[i].perf;
	return mask;
}

void regs_host_from_perf(struct regs *ret, const uint64_t *values, unsigned n)
{
	*ret = (struct regs){0};
	for (unsigned i = 0; i < n && i < LAYOUT_N; i++)
		regs_set(ret, layout[i].dwarf, values[i]);
}

void regs_host_from_user(struct regs *ret, const struct user_regs_struct *u)
{
	const struct {
		uint8_t dwarf;
		uint64_t value;
	} all[] = {
		{X86_RAX, u->rax}, {X86_RBX, u->rbx}, {X86_RCX, u->rcx}, {X86_RDX, u->rdx},
		{X86_RSI, u->rsi}, {X86_RDI, u->rdi}, {X86_RBP, u->rbp}, {X86_RSP, u->rsp},
		{X86_RIP, u->rip}, {X86_R8, u->r8},   {X86_R9, u->r9},	 {X86_R10, u->r10},
		{X86_R11, u->r11}, {X86_R12, u->r12}, {X86_R13, u->r13}, {X86_R14, u->r14},
		{X86_R15, u->r15},
	};

	*ret = (struct regs){0};
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		regs_set(ret, all[i].dwarf, all[i].value);
}
