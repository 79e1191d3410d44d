#include "jvm-bridge/attach/confine_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "symbolizer/base/call_rules.h"

/* clang-format off */
static const int allowed[] = {
	/* memory; making it executable is below */
	SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
	/* descriptors */
	SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(readv), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(lseek),
	SCMP_SYS(close), SCMP_SYS(poll), SCMP_SYS(ppoll),
	/* names: opening is below; removing and renaming, only relative to an open directory */
	SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(statfs), SCMP_SYS(fstatfs),
	SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat),
	SCMP_SYS(getdents64), SCMP_SYS(unlinkat), SCMP_SYS(renameat), SCMP_SYS(umask),
	/* the JVM's listener, the bridge's socket, and the parent */
	SCMP_SYS(bind), SCMP_SYS(listen), SCMP_SYS(accept4), SCMP_SYS(connect), SCMP_SYS(getsockopt),
	SCMP_SYS(sendto), SCMP_SYS(recvfrom), SCMP_SYS(sendmsg),
	/* the target's ids */
	SCMP_SYS(setresuid), SCMP_SYS(setresgid), SCMP_SYS(capget), SCMP_SYS(capset),
	SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(getpid), SCMP_SYS(gettid),
	SCMP_SYS(getppid),
	/* time, locks, random numbers, what libc asks of the machine */
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(gettimeofday), SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep), SCMP_SYS(futex), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity),
	SCMP_SYS(getrandom), SCMP_SYS(sysinfo), SCMP_SYS(getrusage),
	/* signals, and the end */
	SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
	SCMP_SYS(restart_syscall), SCMP_SYS(exit), SCMP_SYS(exit_group),
};
/* clang-format on */

/* Allowed with these arguments only. */
static const struct call_rule allowed_with[] = {
	{SCMP_SYS(mmap), 1, {SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)}},
	{SCMP_SYS(mprotect), 1, {SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)}},
	/* An existing file is opened for reading only. */
	{SCMP_SYS(open), 1, {SCMP_A1(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY)}},
	{SCMP_SYS(openat), 1, {SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY)}},
	{SCMP_SYS(openat), 1, {SCMP_A2(SCMP_CMP_MASKED_EQ, O_CREAT | O_EXCL, O_CREAT | O_EXCL)}},
	{SCMP_SYS(fcntl), 1, {SCMP_A1(SCMP_CMP_EQ, F_GETFD)}},
	{SCMP_SYS(fcntl), 1, {SCMP_A1(SCMP_CMP_EQ, F_GETFL)}},
	{SCMP_SYS(fcntl), 1, {SCMP_A1(SCMP_CMP_EQ, F_SETFD)}},
	{SCMP_SYS(fcntl), 1, {SCMP_A1(SCMP_CMP_EQ, F_DUPFD_CLOEXEC)}},
	{SCMP_SYS(socket), 2, {SCMP_A0(SCMP_CMP_EQ, AF_UNIX), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, SOCK_STREAM)}},
	{SCMP_SYS(setns), 1, {SCMP_A1(SCMP_CMP_EQ, CLONE_NEWUSER)}},
	{SCMP_SYS(setgroups), 1, {SCMP_A0(SCMP_CMP_EQ, 0)}},
};

/* The only process that it reaches is the target; abort(3) signals this one. */
static int add_target(scmp_filter_ctx f, pid_t target)
{
	const struct scmp_arg_cmp pid = SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)target),
				  quit = SCMP_A1(SCMP_CMP_EQ, SIGQUIT),
				  self = SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid());
	int r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(pidfd_open), 1, pid);

	if (r == 0)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(pidfd_send_signal), 1, quit);
	if (r == 0)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(kill), 2, pid, quit);
	return r == 0 ? seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, self) : r;
}

static int add_rules(scmp_filter_ctx f, pid_t target)
{
	/* Its flags are in memory, where a filter cannot see them; path_in_root.h then goes by openat(2). */
	int r = seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(openat2), 0);

	if (r == 0)
		r = call_rules_allow(f, CALLS(allowed), CALLS(allowed_with));
	return r == 0 ? add_target(f, target) : r;
}

int confine_calls(pid_t target)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r = f ? seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) : -ENOMEM;

	if (r == 0)
		r = add_rules(f, target);
	if (r == 0)
		r = seccomp_load(f);
	seccomp_release(f);
	return r;
}
