#ifndef JS_ENGINE_PTRACE_STOP_H
#define JS_ENGINE_PTRACE_STOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/suspend/has_run.h"

/*
 * Stops single threads of another process with ptrace(2): a thread is seized, interrupted, and released again. Nothing
 * stays attached in between, so that signals, new threads and debuggers meet no tracer.
 * PTRACE_SEIZE is used without options: when the tracing thread ends, even by SIGKILL, the kernel detaches
 * and resumes everything, with signals as they were. All calls must come from the same thread.
 */

/*
 * Asks the thread to stop. -ESRCH: gone; -EPERM: another tracer has it, or it is not permitted. -EINTR: nothing was done,
 * see ptrace_stop_break().
 */
int ptrace_stop_ask(pid_t tid);

/* How a thread that was asked answers. */
struct ptrace_stop_event {
	pid_t tid;
	bool ended; /* there is nothing to release */
	int signal; /* it stopped before it took this signal, which is to be passed on; 0: none */
	bool group; /* its process is stopped (SIGSTOP) */
};

/* The next answer; false: none has come. Threads that are not known may answer (execve() gives a thread
 * the id of its process), and are to be released as well. */
bool ptrace_stop_next(struct ptrace_stop_event *ret);
/* Waits for it. 1: it has come; 0: no thread was asked; -EINTR. */
int ptrace_stop_wait(struct ptrace_stop_event *ret);

/* A stopped thread's registers. */
struct ptrace_stop_regs {
	struct has_run_set set;
	int64_t result; /* of set.call, negative errno of the kernel's own (-512...) included */
	uint64_t thread_block; /* address of the C library's control block; 0: none */
};
int ptrace_stop_regs(pid_t tid, struct ptrace_stop_regs *ret);

/*
 * Makes a thread whose system call has failed with EINTR because of the stop make the call again.
 * `timeout_arg`: index of the argument that is set to `timeout`; negative: none.
 */
int ptrace_stop_rewind(pid_t tid, int timeout_arg, uint64_t timeout);

/*
 * Of this thread: the process that it is going to trace. If that is a child of this program, its end is reported once and left
 * to whoever waits for the child: to the kernel they are one parent (ptrace_reparented() in linux/ptrace.h), so a wait by the
 * tracer would take the exit status. By then no other thread of the process is left (delay_group_leader()).
 */
void ptrace_stop_begin(pid_t pid);

/* Resumes and detaches; `signal`: that of the event. */
int ptrace_stop_release(pid_t tid, int signal);

/*
 * Of a signal's handler, `context` as sigaction(2) says: ends a ptrace_stop_ask() of this thread that waits, or is about to
 * begin. The kernel would make the call again after each handler. While a process is in execve() PTRACE_SEIZE waits for
 * it, however long that takes, and it waits for traced threads that have ended to be taken note of.
 */
bool ptrace_stop_break(void *context);

#endif
