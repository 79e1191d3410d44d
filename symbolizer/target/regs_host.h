#ifndef JS_TARGET_REGS_HOST_H
#define JS_TARGET_REGS_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/target/regs.h"

struct user_regs_struct;

/* Converts the register layouts of this host's kernel to struct regs. One file per processor. */

/* perf_event_attr.sample_regs_user that asks for every register that struct regs can hold. */
uint64_t regs_host_perf_mask(void);

/*
 * `values`: from a PERF_SAMPLE_REGS_USER record, `n` of them, in the order of the bits of the mask above
 * (linux/arch/x86/include/uapi/asm/perf_regs.h). Registers without a value are unknown.
 */
void regs_host_from_perf(struct regs *ret, const uint64_t *values, unsigned n);

/* From the result of PTRACE_GETREGSET (NT_PRSTATUS, sys/user.h). */
void regs_host_from_user(struct regs *ret, const struct user_regs_struct *u);

/* For a stopped thread: the number of the system call that the stop interrupted; negative: none. */
int64_t regs_host_call(const struct user_regs_struct *u);
int64_t regs_host_result(
	const struct user_regs_struct *u); /* the call's result; may be a negative kernel-internal errno (-512...) */
uint64_t
regs_host_thread_block(const struct user_regs_struct *u); /* address of the C library's control block; 0: none */

/* Makes the thread repeat that call, with argument `arg` (negative: none) set to `value`. */
void regs_host_rewind(struct user_regs_struct *u, int arg, uint64_t value);

/*
 * For a signal handler of this program, with its ucontext_t: if the thread is about to begin or restart the system call
 * `number` with first argument `arg`, makes that call end with EINTR. false: the thread is not at such a call, and
 * nothing was changed.
 */
bool regs_host_break_call(void *context, long number, uint64_t arg);

#endif
