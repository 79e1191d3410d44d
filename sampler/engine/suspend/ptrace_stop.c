#include "sampler/engine/suspend/ptrace_stop.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "symbolizer/target/regs_host.h"

enum { CALL_BYTES = 2 }; /* of the syscall instruction */

/* linux/errno.h, never seen by a program: the kernel restarts the call after the stop by itself. */
enum { ERR_RESTARTSYS = 512, ERR_RESTARTNOINTR, ERR_RESTARTNOHAND, ERR_RESTART_BLOCK = 516 };

int ptrace_stop_ask(pid_t tid)
{
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
		return -errno;
	/* ESRCH: it ended just now, and its end is reported. */
	(void)!ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	return 0;
}

static void take_end(pid_t tid)
{
	siginfo_t info;

	(void)!waitid(P_PID, (id_t)tid, &info, WEXITED | WNOHANG | __WALL | __WNOTHREAD);
}

/*
 * WNOWAIT: taking note of a stop in front of a signal takes the signal from the thread (wait_task_stopped()
 * in linux/kernel/exit.c clears its exit_code): with this program killed then, it would be lost. Left
 * alone, it is what the kernel goes on with, whatever becomes of the tracer.
 */
static int take(struct ptrace_stop_event *ret, int how)
{
	siginfo_t info = {0};
	int event, sig;

	if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOWAIT | __WALL | __WNOTHREAD | how) < 0)
		return -errno;
	if (!info.si_pid)
		return 0;
	*ret = (struct ptrace_stop_event){.tid = info.si_pid};
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) {
		take_end(info.si_pid);
		ret->ended = true;
		return 1;
	}
	event = info.si_status >> 8;
	sig = info.si_status & 0x7f;
	ret->group = event == PTRACE_EVENT_STOP && sig != SIGTRAP;
	ret->signal = event == PTRACE_EVENT_STOP ? 0 : sig;
	return 1;
}

bool ptrace_stop_next(struct ptrace_stop_event *ret)
{
	return take(ret, WNOHANG) > 0;
}

int ptrace_stop_wait(struct ptrace_stop_event *ret)
{
	int r = take(ret, 0);

	return r == -ECHILD ? 0 : r;
}

static int get_regs(pid_t tid, struct user_regs_struct *u)
{
	struct iovec iov = {u, sizeof(*u)};

	return ptrace(PTRACE_GETREGSET, tid, (void *)(long)NT_PRSTATUS, &iov) < 0 ? -errno : 0;
}

/* In a call that did not end: what it returned asks for a restart, or is EINTR. */
static bool is_in_call(const struct user_regs_struct *u)
{
	switch (-(int64_t)u->rax) {
	case EINTR:
	case ERR_RESTARTSYS:
	case ERR_RESTARTNOINTR:
	case ERR_RESTARTNOHAND:
	case ERR_RESTART_BLOCK:
		return (int64_t)u->orig_rax >= 0;
	default:
		return false;
	}
}

int ptrace_stop_regs(pid_t tid, struct ptrace_stop_regs *ret)
{
	struct user_regs_struct u;
	int r = get_regs(tid, &u);

	if (r < 0)
		return r;
	regs_host_from_user(&ret->set.regs, &u);
	ret->set.call = is_in_call(&u) ? (int64_t)u.orig_rax : -1;
	ret->result = (int64_t)u.rax;
	ret->thread_block = u.fs_base;
	return 0;
}

/* The order of a system call's arguments, System V ABI AMD64 supplement, A.2.1. */
static unsigned long long *argument(struct user_regs_struct *u, int i)
{
	unsigned long long *const args[] = {&u->rdi, &u->rsi, &u->rdx, &u->r10, &u->r8, &u->r9};

	return i >= 0 && i < 6 ? args[i] : NULL;
}

int ptrace_stop_rewind(pid_t tid, int timeout_arg, uint64_t timeout)
{
	struct user_regs_struct u;
	struct iovec iov = {&u, sizeof(u)};
	unsigned long long *arg;
	int r = get_regs(tid, &u);

	if (r < 0)
		return r;
	arg = argument(&u, timeout_arg);
	if (arg)
		*arg = timeout;
	u.rax = u.orig_rax;
	u.rip -= CALL_BYTES;
	u.orig_rax = (unsigned long long)-1; /* not in a call: nothing for the kernel to restart */
	return ptrace(PTRACE_SETREGSET, tid, (void *)(long)NT_PRSTATUS, &iov) < 0 ? -errno : 0;
}

int ptrace_stop_release(pid_t tid, int signal)
{
	return ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)signal) < 0 ? -errno : 0;
}

void ptrace_stop_reap(void)
{
	int saved = errno;
	siginfo_t info;

	do
		memset(&info, 0, sizeof(info));
	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL | __WNOTHREAD) == 0 && info.si_pid);
	errno = saved;
}
