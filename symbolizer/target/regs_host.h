#ifndef JS_TARGET_REGS_HOST_H
#define JS_TARGET_REGS_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/target/regs.h"

struct user_regs_struct;

/* The kernel's register layouts on this host's processor, turned into struct regs. One file per processor. */

/* perf_event_attr.sample_regs_user that asks for every register that struct regs can hold. */
uint64_t regs_host_perf_mask(void);

/* `values`: as in a PERF_SAMPLE_REGS_USER record, in the order of the bits of the mask above
 * (linux/arch/x86/include/uapi/asm/perf_regs.h). `n` of them; missing ones stay unknown. */
void regs_host_from_perf(struct regs *ret, const uint64_t *values, unsigned n);

/* As PTRACE_GETREGSET gives them (NT_PRSTATUS, sys/user.h). */
void regs_host_from_user(struct regs *ret, const struct user_regs_struct *u);

/* Of a stopped thread: the number of the system call that the stop interrupted; negative: it was in none. */
int64_t regs_host_call(const struct user_regs_struct *u);
int64_t regs_host_result(
	const struct user_regs_struct *u); /* of that call, negative errno of the kernel's own (-512...) included */
uint64_t
regs_host_thread_block(const struct user_regs_struct *u); /* address of the C library's control block; 0: none */

/* Goes back in front of that call, with argument `arg` (negative: none) set to `value`. */
void regs_host_rewind(struct user_regs_struct *u, int arg, uint64_t value);

/*
 * For a signal handler of this program, which passes its ucontext_t: a call that the kernel would restart after the handler
 * (or has not begun) ends with EINTR instead. `number`, `arg`: of the call, its first argument. False: the thread is not
 * at such a call, and nothing is changed.
 */
bool regs_host_break_call(void *context, long number, uint64_t arg);

#endif
