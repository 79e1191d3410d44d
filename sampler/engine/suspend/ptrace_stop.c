#include "sampler/engine/suspend/ptrace_stop.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "symbolizer/target/regs_host.h"

int ptrace_stop_ask(pid_t tid)
{
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
		return -errno;
	/* ESRCH: it has just ended, and its end will be reported. */
	(void)!ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	return 0;
}

static _Thread_local struct {
	pid_t pid; /* 0: none */
	bool ended;
} child;

void ptrace_stop_begin(pid_t pid)
{
	siginfo_t info;
	bool own = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;

	child.pid = own ? pid : 0;
	child.ended = false;
}

/* False: it was reported before. */
static bool take_end(pid_t tid)
{
	siginfo_t info;
	bool known = tid == child.pid && child.ended;

	if (tid == child.pid)
		child.ended = true;
	else
		(void)!waitid(P_PID, (id_t)tid, &info, WEXITED | WNOHANG | __WALL | __WNOTHREAD);
	return !known;
}

/*
 * WNOWAIT: a wait that consumes a stop for a signal takes the signal from the thread (wait_task_stopped() in
 * linux/kernel/exit.c clears its exit_code), and the signal would be lost if this program were killed then. With
 * WNOWAIT the kernel delivers it, whatever becomes of the tracer.
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
		ret->ended = true;
		return take_end(info.si_pid);
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

int ptrace_stop_regs(pid_t tid, struct ptrace_stop_regs *ret)
{
	struct user_regs_struct u;
	int r = get_regs(tid, &u);

	if (r < 0)
		return r;
	regs_host_from_user(&ret->set.regs, &u);
	ret->set.call = regs_host_call(&u);
	ret->result = regs_host_result(&u);
	ret->thread_block = regs_host_thread_block(&u);
	return 0;
}

int ptrace_stop_rewind(pid_t tid, int timeout_arg, uint64_t timeout)
{
	struct user_regs_struct u;
	struct iovec iov = {&u, sizeof(u)};
	int r = get_regs(tid, &u);

	if (r < 0)
		return r;
	regs_host_rewind(&u, timeout_arg, timeout);
	return ptrace(PTRACE_SETREGSET, tid, (void *)(long)NT_PRSTATUS, &iov) < 0 ? -errno : 0;
}

int ptrace_stop_release(pid_t tid, int signal)
{
	return ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)signal) < 0 ? -errno : 0;
}

/*
 * ptrace_attach() in linux/kernel/ptrace.c waits for the target's cred_guard_mutex; a signal ends that with
 * -ERESTARTNOINTR, so the handler's context is the one from before the call.
 */
bool ptrace_stop_break(void *context)
{
	return regs_host_break_call(context, SYS_ptrace, PTRACE_SEIZE);
}
