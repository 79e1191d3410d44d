#include "sampler/closed/sampling_calls.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "sampler/closed/thread_flags.h"
#include "symbolizer/base/call_rules.h"

/* Exactly as glibc's fork(3) calls it. */
#define CLONE_A_CHILD (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD)

/* clang-format off */
static const int allowed[] = {
	/* threads and their priority */
	SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(sched_getscheduler), SCMP_SYS(getpriority),
	/* waiting */
	SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(eventfd2),
	SCMP_SYS(rt_sigtimedwait), SCMP_SYS(timer_create), SCMP_SYS(timer_settime), SCMP_SYS(timer_delete),
	SCMP_SYS(waitid),
	/* sockets that are open: the broker's, the bridge's, a child's */
	SCMP_SYS(sendmsg), SCMP_SYS(recvmsg), SCMP_SYS(recvfrom), SCMP_SYS(shutdown), SCMP_SYS(getsockopt),
	/* a target's memory and files */
	SCMP_SYS(preadv), SCMP_SYS(fstatfs), SCMP_SYS(getdents64),
	/* a child that reads source lines */
	SCMP_SYS(dup2), SCMP_SYS(dup3),
};
/* clang-format on */

static const struct call_rule allowed_with[] = {
	{SCMP_SYS(clone), 1, {SCMP_A0(SCMP_CMP_EQ, CLONE_A_THREAD)}},
	{SCMP_SYS(clone), 1, {SCMP_A0(SCMP_CMP_EQ, CLONE_A_CHILD)}},
	/* of the calling thread */
	{SCMP_SYS(sched_setscheduler), 1, {SCMP_A0(SCMP_CMP_EQ, 0)}},
	{SCMP_SYS(sched_setattr), 1, {SCMP_A0(SCMP_CMP_EQ, 0)}},
	{SCMP_SYS(sched_setaffinity), 1, {SCMP_A0(SCMP_CMP_EQ, 0)}},
	{SCMP_SYS(setpriority), 2, {SCMP_A0(SCMP_CMP_EQ, PRIO_PROCESS), SCMP_A1(SCMP_CMP_EQ, 0)}},
	/* for one process, not for all; Landlock limits this to that child */
	{SCMP_SYS(kill), 2, {SCMP_A0(SCMP_CMP_MASKED_EQ, 0x80000000, 0), SCMP_A1(SCMP_CMP_EQ, SIGKILL)}},
	/* A datagram socket could send to any socket that has a name. */
	{SCMP_SYS(socketpair), 2, {SCMP_A0(SCMP_CMP_EQ, AF_UNIX), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, SOCK_STREAM)}},
	{SCMP_SYS(sendto), 1, {SCMP_A4(SCMP_CMP_EQ, 0)}},
	{SCMP_SYS(prctl), 1, {SCMP_A0(SCMP_CMP_EQ, PR_SET_PDEATHSIG)}},
	{SCMP_SYS(prctl), 1, {SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME)}},
	{SCMP_SYS(prctl), 1, {SCMP_A0(SCMP_CMP_EQ, PR_GET_NAME)}},
	{SCMP_SYS(prlimit64), 1, {SCMP_A0(SCMP_CMP_EQ, 0)}},
	{SCMP_SYS(ioctl), 1, {SCMP_A1(SCMP_CMP_EQ, PERF_EVENT_IOC_ENABLE)}},
	{SCMP_SYS(ioctl), 1, {SCMP_A1(SCMP_CMP_EQ, PERF_EVENT_IOC_DISABLE)}},
	{SCMP_SYS(ioctl), 1, {SCMP_A1(SCMP_CMP_EQ, PERF_EVENT_IOC_SET_OUTPUT)}},
	{SCMP_SYS(ioctl), 1, {SCMP_A1(SCMP_CMP_EQ, PERF_EVENT_IOC_ID)}},
};

int sampling_calls_add(scmp_filter_ctx f)
{
	/* Its flags are in memory, where a filter cannot see them; libc then falls back to clone(2). */
	int r = seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

	return r == 0 ? call_rules_allow(f, CALLS(allowed), CALLS(allowed_with)) : r;
}
