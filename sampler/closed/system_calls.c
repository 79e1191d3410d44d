#include "sampler/closed/system_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "sampler/closed/keeping_calls.h"
#include "sampler/closed/sampling_calls.h"
#include "sampler/closed/tracing_calls.h"
#include "symbolizer/base/call_rules.h"

/*
 * TCGETS2 of linux/termios.h, which cannot be included beside termios.h: isatty(3) of glibc 2.42 and later. Its argument
 * is a structure of 44 bytes.
 */
#define TERMINAL_GET2 _IOR('T', 0x2A, char[44])

/* clang-format off */
static const int allowed[] = {
	/* memory; making it executable is below */
	SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
	/* descriptors that are open */
	SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(pwrite64),
	SCMP_SYS(lseek), SCMP_SYS(close), SCMP_SYS(fstat), SCMP_SYS(poll), SCMP_SYS(ppoll),
	/* time */
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep), SCMP_SYS(getrusage), SCMP_SYS(times),
	/* locks, and the end */
	SCMP_SYS(futex), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(getcpu), SCMP_SYS(exit),
	SCMP_SYS(exit_group), SCMP_SYS(wait4),
	/* signals; their handlers are below */
	SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigpending), SCMP_SYS(sigaltstack),
	SCMP_SYS(restart_syscall),
	/* about this process and machine */
	SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getppid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid),
	SCMP_SYS(getegid), SCMP_SYS(getrandom), SCMP_SYS(sysinfo),
};
/* clang-format on */

/* Allowed with these arguments only. */
static const struct call_rule allowed_with[] = {
	/* No memory that is both written and executed, nor any that becomes executable. */
	{SCMP_SYS(mmap), 1, {SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)}},
	{SCMP_SYS(mprotect), 1, {SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)}},
	/* fstat(3) of glibc. A path is possible, too, but that reveals only a file's owner, not its content. */
	{SCMP_SYS(newfstatat), 1, {SCMP_A3(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH)}},
	{SCMP_SYS(fcntl), 1, {SCMP_A1(SCMP_CMP_EQ, F_GETFD)}},
	{SCMP_SYS(fcntl), 1, {SCMP_A1(SCMP_CMP_EQ, F_SETFD)}},
	{SCMP_SYS(fcntl), 1, {SCMP_A1(SCMP_CMP_EQ, F_GET_SEALS)}},
	{SCMP_SYS(fcntl), 1, {SCMP_A1(SCMP_CMP_EQ, F_GETFL)}},
	{SCMP_SYS(fcntl), 1, {SCMP_A1(SCMP_CMP_EQ, F_SETFL)}},
	{SCMP_SYS(fcntl), 1, {SCMP_A1(SCMP_CMP_EQ, F_DUPFD_CLOEXEC)}},
	{SCMP_SYS(fcntl), 1, {SCMP_A1(SCMP_CMP_EQ, F_SETLK)}}, /* SQLite, for a history that was opened before */
	{SCMP_SYS(ioctl), 1, {SCMP_A1(SCMP_CMP_EQ, TCGETS)}}, /* isatty(3) */
	{SCMP_SYS(ioctl), 1, {SCMP_A1(SCMP_CMP_EQ, TERMINAL_GET2)}},
	{SCMP_SYS(ioctl), 1, {SCMP_A1(SCMP_CMP_EQ, TIOCGWINSZ)}},
	/* A handler in place of say_and_end() would keep the process alive. */
	{SCMP_SYS(rt_sigaction), 1, {SCMP_A0(SCMP_CMP_NE, SIGSYS)}},
	{SCMP_SYS(prlimit64), 2, {SCMP_A0(SCMP_CMP_EQ, 0), SCMP_A2(SCMP_CMP_EQ, 0)}}, /* of this process, read only */
};

/* Calls that libc makes on its own, which may fail. */
static const struct {
	int call, error;
	unsigned n;
	struct scmp_arg_cmp arg[1];
} answered[] = {
	{SCMP_SYS(open), EACCES, 1, {SCMP_A1(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY)}},
	{SCMP_SYS(openat), EACCES, 1, {SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY)}},
	{SCMP_SYS(newfstatat), EACCES, 1, {SCMP_A3(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, 0)}},
	{SCMP_SYS(stat), EACCES, 0, {}},
	{SCMP_SYS(access), EACCES, 0, {}},
	{SCMP_SYS(readlink), EACCES, 0, {}},
};

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* --- calls that are not on the list --- */

static char *add_text(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	return at;
}

static char *add_number(char *at, uint64_t n, unsigned base)
{
	char digits[24];
	int i = 0;

	do
		digits[i++] = "0123456789abcdef"[n % base];
	while (n /= base);
	while (i)
		*at++ = digits[--i];
	return at;
}

/* SIGSYS is blocked meanwhile, so the next trapped call ends the process: seccomp(2), SECCOMP_RET_TRAP. */
static void say_and_end(int signal, siginfo_t *info, void *context)
{
	const greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	char line[160], *at = line;

	(void)signal;
	at = add_text(at, "jsampler: system call ");
	at = add_number(at, (unsigned)info->si_syscall, 10);
	at = add_text(at, " (0x");
	at = add_number(at, (uint64_t)regs[REG_RDI], 16);
	at = add_text(at, ", 0x");
	at = add_number(at, (uint64_t)regs[REG_RSI], 16);
	at = add_text(at, ") is not allowed where files are parsed; this process ends\n");
	if (write(STDERR_FILENO, line, (size_t)(at - line)) < 0)
		syscall(SYS_execve, NULL, NULL, NULL);
	syscall(SYS_execve, NULL, NULL, NULL);
	_exit(128 + SIGSYS);
}

static int catch_refusals(void)
{
	struct sigaction sa = {.sa_sigaction = say_and_end, .sa_flags = SA_SIGINFO};
	sigset_t sys;

	sigfillset(&sa.sa_mask);
	sigemptyset(&sys);
	sigaddset(&sys, SIGSYS);
	return sigaction(SIGSYS, &sa, NULL) < 0 || sigprocmask(SIG_UNBLOCK, &sys, NULL) < 0 ? -errno : 0;
}

/* --- the filter --- */

static int add_rules(scmp_filter_ctx f, bool opens)
{
	int r = call_rules_allow(f, CALLS(allowed), CALLS(allowed_with));

	for (size_t i = 0; r == 0 && !opens && i < N(answered); i++)
		r = seccomp_rule_add_array(f, SCMP_ACT_ERRNO(answered[i].error), answered[i].call, answered[i].n,
					   answered[i].arg);
	return r;
}

/* Rules that depend on this process: abort(3), and the socket to the process that opens files. */
static int add_own_rules(scmp_filter_ctx f, int socket)
{
	int r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));

	if (r == 0 && socket >= 0)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(sendmsg), 1,
				     SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)socket));
	if (r == 0 && socket >= 0)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(recvmsg), 1,
				     SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)socket));
	if (r == 0 && socket >= 0)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(shutdown), 1,
				     SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)socket));
	return r;
}

/* The caller has set no_new_privs, without which this takes CAP_SYS_ADMIN; libseccomp sets it by default anyway. */
static int set_attributes(scmp_filter_ctx f)
{
	int r = seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

	return r == 0 ? seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1) : r;
}

int system_calls_filter(enum closed_work work, int socket)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_TRAP);
	int r = f ? set_attributes(f) : -ENOMEM;

	if (r == 0)
		r = add_rules(f, work == CLOSED_KEEPING || work == CLOSED_TRACING);
	if (r == 0 && work == CLOSED_SAMPLING)
		r = sampling_calls_add(f);
	if (r == 0 && work == CLOSED_TRACING)
		r = tracing_calls_add(f);
	if (r == 0 && work == CLOSED_KEEPING)
		r = keeping_calls_add(f);
	if (r == 0)
		r = add_own_rules(f, work == CLOSED_FILES || work == CLOSED_TRACING ? socket : -1);
	if (r == 0)
		r = catch_refusals();
	if (r == 0)
		r = seccomp_load(f);
	seccomp_release(f);
	return r;
}
