#ifndef JS_ENGINE_PTRACE_STOP_H
#define JS_ENGINE_PTRACE_STOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/suspend/has_run.h"

/*
 * Stopping single threads of another process, ptrace(2): seized, interrupted, and let go again. Nothing
 * stays attached between two looks, so that signals, new threads and debuggers meet no tracer.
 * PTRACE_SEIZE without options: when the tracing thread ends, kill -9 included, the kernel detaches
 * and resumes everything, with signals as they were. All calls for one thread come from one thread.
 */

/* Asks the thread to stop. -ESRCH: gone; -EPERM: another tracer has it, or it is not permitted. */
int ptrace_stop_ask(pid_t tid);

/* How a thread that was asked answers. */
struct ptrace_stop_event {
	pid_t tid;
	bool ended; /* not there any more: there is nothing to let go */
	int signal; /* it stopped in front of this signal, which has to be handed on; 0: none */
	bool group; /* its process is stopped (SIGSTOP) */
};

/* The next answer that is there; false: none now. Threads nobody knows may answer (execve() gives a thread
 * the id of its process): let them go as well. */
bool ptrace_stop_next(struct ptrace_stop_event *ret);
/* Waits for it. 1: there it is; 0: nobody was asked, there is nothing to wait for; -EINTR. */
int ptrace_stop_wait(struct ptrace_stop_event *ret);

/* A stopped thread's registers. */
struct ptrace_stop_regs {
	struct has_run_set set;
	int64_t result; /* of set.call, negative errno of the kernel's own (-512...) included */
	uint64_t thread_block; /* address of the C library's control block; 0: none */
};
int ptrace_stop_regs(pid_t tid, struct ptrace_stop_regs *ret);

/*
 * Puts a thread whose system call has ended with EINTR because of the stop in front of the call again.
 * `timeout_arg`: index of the argument that is a timeout, set to `timeout`; negative: none.
 */
int ptrace_stop_rewind(pid_t tid, int timeout_arg, uint64_t timeout);

/* Resumes and detaches; `signal` as the event said. */
int ptrace_stop_release(pid_t tid, int signal);

/* Async-signal-safe: takes note of traced threads that ended, nothing else. While a process is in
 * execve() PTRACE_SEIZE waits for it, and it for its traced threads to be taken note of. */
void ptrace_stop_reap(void);

#endif
