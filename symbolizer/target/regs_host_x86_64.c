#include "symbolizer/target/regs_host.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/user.h>
#include <ucontext.h>

enum { CALL_BYTES = 2 }; /* length of the syscall instruction */

/* linux/errno.h. A program never sees these: the kernel restarts the call after the stop. */
enum { ERR_RESTARTSYS = 512, ERR_RESTARTNOINTR, ERR_RESTARTNOHAND, ERR_RESTART_BLOCK = 516 };

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
		{X86_RAX, u->rax}, {X86_RBX, u->rbx}, {X86_RCX, u->rcx}, {X86_RDX, u->rdx}, {X86_RSI, u->rsi},
		{X86_RDI, u->rdi}, {X86_RBP, u->rbp}, {X86_RSP, u->rsp}, {X86_RIP, u->rip}, {X86_R8, u->r8},
		{X86_R9, u->r9},   {X86_R10, u->r10}, {X86_R11, u->r11}, {X86_R12, u->r12}, {X86_R13, u->r13},
		{X86_R14, u->r14}, {X86_R15, u->r15},
	};

	*ret = (struct regs){0};
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		regs_set(ret, all[i].dwarf, all[i].value);
}

/* In a call that was interrupted: its result asks for a restart, or is EINTR. */
static bool is_in_call(const struct user_regs_struct *u)
{
	switch (-(int64_t)u->rax) {
	case EINTR:
	case ERR_RESTARTSYS:
	case ERR_RESTARTNOINTR:
	case ERR_RESTARTNOHAND:
	case ERR_RESTART_BLOCK: return (int64_t)u->orig_rax >= 0;
	default: return false;
	}
}

int64_t regs_host_call(const struct user_regs_struct *u)
{
	return is_in_call(u) ? (int64_t)u->orig_rax : -1;
}

int64_t regs_host_result(const struct user_regs_struct *u)
{
	return (int64_t)u->rax;
}

uint64_t regs_host_thread_block(const struct user_regs_struct *u)
{
	return u->fs_base;
}

/* The order of a system call's arguments, System V ABI AMD64 supplement, A.2.1. */
static unsigned long long *argument(struct user_regs_struct *u, int i)
{
	unsigned long long *const args[] = {&u->rdi, &u->rsi, &u->rdx, &u->r10, &u->r8, &u->r9};

	return i >= 0 && i < 6 ? args[i] : NULL;
}

void regs_host_rewind(struct user_regs_struct *u, int arg, uint64_t value)
{
	unsigned long long *to = argument(u, arg);

	if (to)
		*to = value;
	u->rax = u->orig_rax;
	u->rip -= CALL_BYTES;
	u->orig_rax = (unsigned long long)-1; /* not in a call: nothing for the kernel to restart */
}

/*
 * When a handler runs, the kernel has restored the registers of a call to be restarted, with pc at the instruction
 * (linux/arch/x86/kernel/signal.c).
 */
bool regs_host_break_call(void *context, long number, uint64_t arg)
{
	static const uint8_t insn[CALL_BYTES] = {0x0f, 0x05}; /* syscall */
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	if (g[REG_RAX] != number || (uint64_t)g[REG_RDI] != arg ||
	    memcmp((const void *)g[REG_RIP], insn, sizeof(insn)) != 0)
		return false;
	g[REG_RAX] = -EINTR;
	g[REG_RIP] += CALL_BYTES;
	return true;
}
