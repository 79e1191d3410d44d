#include "sampler/closed/tracing_calls.h"

#include <fcntl.h>
#include <sys/ptrace.h>

#include "symbolizer/base/call_rules.h"

/* clang-format off */
static const int allowed[] = {
	/* files in /proc, by name */
	SCMP_SYS(newfstatat), SCMP_SYS(readlinkat), SCMP_SYS(getdents64),
	/* waiting for threads to stop */
	SCMP_SYS(waitid), SCMP_SYS(timer_create), SCMP_SYS(timer_settime), SCMP_SYS(timer_delete),
};

/*
 * By writing a thread's registers, a tracer can make it do anything; the target's memory is not written here, though.
 */
static const struct call_rule allowed_with[] = {
	{SCMP_SYS(openat), 1, {SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY)}},
	/* No options are allowed: with PTRACE_O_EXITKILL, the target would end with this process. */
	{SCMP_SYS(ptrace), 2, {SCMP_A0(SCMP_CMP_EQ, PTRACE_SEIZE), SCMP_A3(SCMP_CMP_EQ, 0)}},
	{SCMP_SYS(ptrace), 1, {SCMP_A0(SCMP_CMP_EQ, PTRACE_INTERRUPT)}},
	{SCMP_SYS(ptrace), 1, {SCMP_A0(SCMP_CMP_EQ, PTRACE_GETREGSET)}},
	{SCMP_SYS(ptrace), 1, {SCMP_A0(SCMP_CMP_EQ, PTRACE_SETREGSET)}},
	{SCMP_SYS(ptrace), 1, {SCMP_A0(SCMP_CMP_EQ, PTRACE_DETACH)}},
};
/* clang-format on */

int tracing_calls_add(scmp_filter_ctx f)
{
	return call_rules_allow(f, CALLS(allowed), CALLS(allowed_with));
}
