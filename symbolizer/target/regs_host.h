#ifndef JS_TARGET_REGS_HOST_H
#define JS_TARGET_REGS_HOST_H

#include <stdint.h>

#include "symbolizer/target/regs.h"

struct user_regs_struct;

/* Kernel register layouts of this host, turned into struct regs. */

/* perf_event_attr.sample_regs_user that asks for every register that struct regs can hold. */
uint64_t regs_host_perf_mask(void);

/* `values`: as in a PERF_SAMPLE_REGS_USER record, in the order of the bits of the mask above
 * (linux/arch/x86/include/uapi/asm/perf_regs.h). `n` of them; missing ones stay unknown. */
void regs_host_from_perf(struct regs *ret, const uint64_t *values, unsigned n);

/* As PTRACE_GETREGSET gives them (NT_PRSTATUS, sys/user.h). */
void regs_host_from_user(struct regs *ret, const struct user_regs_struct *u);

#endif
