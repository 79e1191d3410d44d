#ifndef JS_ENGINE_PTRACE_STOP_H
#define JS_ENGINE_PTRACE_STOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/suspend/has_run.h"

/*
 * Stops single threads of another process with ptrace(2): a thread is seized, interrupted, and released again.
 * Nothing stays attached in between, so signals, new threads and debuggers meet no tracer. PTRACE_SEIZE is used
 * without options: when the tracing thread ends, even by SIGKILL, the kernel detaches and resumes all threads, with
 * signals as they were. All calls must come from the same thread.
 */

/*
 * Asks the thread to stop. -ESRCH: gone; -EPERM: it has another tracer, or this is not permitted; -EINTR: nothing was
 * done, see ptrace_stop_break().
 */
int ptrace_stop_ask(pid_t tid);

/* The answer of a thread that was asked to stop. */
struct ptrace_stop_event {
	pid_t tid;
	bool ended; /* there is nothing to release */
	int signal; /* the signal that it stopped before taking, to be passed on; 0: none */
	bool group; /* its process is stopped (SIGSTOP) */
};

/* The next answer; false: none has come. Unknown threads may answer (execve() gives a thread the ID of its process),
 * and have to be released as well. */
bool ptrace_stop_next(struct ptrace_stop_event *ret);
/* Waits for the next answer. 1: it has come; 0: no thread was asked; -EINTR. */
int ptrace_stop_wait(struct ptrace_stop_event *ret);

struct ptrace_stop_regs {
	struct has_run_set set;
	int64_t result; /* of set.call, including the kernel's internal errors (-512...) */
	uint64_t thread_block; /* address of the C library's control block; 0: none */
};
int ptrace_stop_regs(pid_t tid, struct ptrace_stop_regs *ret);

/*
 * Makes a thread whose system call failed with EINTR because of the stop repeat that call. `timeout_arg`: index of
 * the argument to set to `timeout`; negative: none.
 */
int ptrace_stop_rewind(pid_t tid, int timeout_arg, uint64_t timeout);

/*
 * Tells this thread which process it is going to trace. If that is a child of this program, its end is reported once
 * and otherwise left to the thread that waits for the child: for the kernel, both are one parent (ptrace_reparented()
 * in linux/ptrace.h), so a wait by the tracer would take the exit status. By then, no other thread of the process is
 * left (delay_group_leader()).
 */
void ptrace_stop_begin(pid_t pid);

/* Resumes and detaches; `signal`: from the event. */
int ptrace_stop_release(pid_t tid, int signal);

/*
 * For a signal handler, with `context` as in sigaction(2): ends a ptrace_stop_ask() of this thread that waits or is
 * about to wait, because the kernel would restart the call after each handler. PTRACE_SEIZE waits while the process
 * is in execve(), however long that takes, and execve() waits until traced threads that have ended are reaped.
 */
bool ptrace_stop_break(void *context);

#endif
