#include "sampler/closed/keeping_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>

#include "sampler/closed/thread_flags.h"
#include "symbolizer/base/call_rules.h"

/* clang-format off */
static const int allowed[] = {
	/* files, by name: Landlock says which */
	SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(newfstatat), SCMP_SYS(statx),
	SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat),
	SCMP_SYS(getcwd), SCMP_SYS(getdents64), SCMP_SYS(rename), SCMP_SYS(renameat), SCMP_SYS(renameat2),
	SCMP_SYS(unlink), SCMP_SYS(unlinkat), SCMP_SYS(statfs), SCMP_SYS(fstatfs),
	/* SQLite's; it copies owner and mode of a database to its logs */
	SCMP_SYS(ftruncate), SCMP_SYS(fallocate), SCMP_SYS(fsync), SCMP_SYS(fdatasync), SCMP_SYS(flock),
	SCMP_SYS(fchmod), SCMP_SYS(fchown), SCMP_SYS(msync), SCMP_SYS(dup), SCMP_SYS(utimensat),
	/* threads */
	SCMP_SYS(set_robust_list), SCMP_SYS(rseq),
	/* waiting */
	SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(select),
	SCMP_SYS(pselect6), SCMP_SYS(eventfd2), SCMP_SYS(pipe2),
	/* sockets that are open, and the connections on them */
	SCMP_SYS(accept), SCMP_SYS(accept4), SCMP_SYS(sendmsg), SCMP_SYS(recvmsg), SCMP_SYS(recvfrom),
	SCMP_SYS(shutdown), SCMP_SYS(getsockopt), SCMP_SYS(setsockopt), SCMP_SYS(getsockname), SCMP_SYS(getpeername),
};
/* clang-format on */

static const struct call_rule allowed_with[] = {
	{SCMP_SYS(clone), 1, {SCMP_A0(SCMP_CMP_EQ, CLONE_A_THREAD)}},
	{SCMP_SYS(sendto), 1, {SCMP_A4(SCMP_CMP_EQ, 0)}},
	{SCMP_SYS(fcntl), 1, {SCMP_A1(SCMP_CMP_EQ, F_GETLK)}},
	{SCMP_SYS(prctl), 1, {SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME)}},
};

int keeping_calls_add(scmp_filter_ctx f)
{
	/* Its flags are in memory, where a filter cannot see them; libc then falls back to clone(2). */
	int r = seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

	return r == 0 ? call_rules_allow(f, CALLS(allowed), CALLS(allowed_with)) : r;
}
