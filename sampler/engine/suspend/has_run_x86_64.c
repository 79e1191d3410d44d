#include "sampler/engine/suspend/has_run.h"

/* linux/arch/x86/entry/syscalls/syscall_64.tbl */
enum { CALL_RESTART = 219 };
/* Length of the syscall instruction: the kernel moves the pc back by this to restart a call. */
enum { CALL_BYTES = 2 };

/* FNV-1a by words, with a final mix: a checksum, not secure. */
static uint64_t add_word(uint64_t sum, uint64_t word)
{
	sum = (sum ^ word) * UINT64_C(0x100000001b3);
	return sum ^ sum >> 29;
}

static uint64_t sum_of(const struct regs *r, const uint8_t *which, unsigned n, uint64_t pc)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	sum = add_word(sum, pc);
	for (unsigned i = 0; i < n; i++)
		sum = add_word(sum, r->r[which[i]]);
	return sum;
}

/*
 * Registers of a thread in a system call change without the thread running: rax is the call's number, then an error
 * that asks for a restart (-ERESTARTSYS), then the number of restart_syscall; the pc moves back over the instruction
 * and forth again; the instruction itself uses rcx and r11. So only the pc after the instruction, sp and the call's
 * six arguments count, which is also all that is known of a thread that is not stopped. The call's number does not
 * count, because restart_syscall has another.
 */
static uint64_t sum_in_call(const struct regs *r, uint64_t pc)
{
	static const uint8_t which[] = {X86_RSP, X86_RDI, X86_RSI, X86_RDX, X86_R10, X86_R8, X86_R9};

	return ~sum_of(r, which, sizeof(which), pc);
}

/* Outside calls all registers count, but not the flags: no loop changes only these. */
static uint64_t sum_running(const struct regs *r)
{
	static const uint8_t which[] = {
		X86_RAX, X86_RDX, X86_RCX, X86_RBX, X86_RSI, X86_RDI, X86_RBP, X86_RSP,
		X86_R8,  X86_R9,  X86_R10, X86_R11, X86_R12, X86_R13, X86_R14, X86_R15,
	};

	return sum_of(r, which, sizeof(which), r->r[X86_RIP]);
}

static uint64_t checksum(const struct has_run_set *s)
{
	const struct regs *r = &s->regs;

	if (s->call >= 0)
		return sum_in_call(r, r->r[X86_RIP]);
	/* About to enter a call that the kernel restarts: still at the instruction. */
	if (regs_known(r, X86_RAX) && r->r[X86_RAX] == CALL_RESTART)
		return sum_in_call(r, r->r[X86_RIP] + CALL_BYTES);
	return sum_running(r);
}

const struct has_run_arch has_run_x86_64 = {.name = "x86-64", .checksum = checksum};
