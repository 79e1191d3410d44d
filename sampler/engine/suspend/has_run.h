#ifndef JS_ENGINE_HAS_RUN_H
#define JS_ENGINE_HAS_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/target/regs.h"

/*
 * JVMPI's ThreadHasRun from outside: has a thread used a CPU since it was last looked at? A checksum of its registers
 * shows this, as in the JVMPI paper, and so does the kernel's account. These are pure functions; suspend_threads.h
 * reads their input.
 */

/*
 * The registers of a thread that does not run: all of them if it is stopped, those in
 * /proc/PID/task/TID/syscall if it is blocked in a system call.
 */
struct has_run_set {
	struct regs regs;
	/* The system call that it is blocked in, or that will be restarted; negative: none. */
	int64_t call;
};

struct has_run_arch {
	const char *name;
	/* Equal for two sets if the thread possibly executed no instruction of its own in between. */
	uint64_t (*checksum)(const struct has_run_set *s);
};

extern const struct has_run_arch has_run_x86_64;
const struct has_run_arch *has_run_host(void);

/* The kernel's account of a thread, /proc/PID/task/TID/schedstat (Documentation/scheduler/sched-stats.rst). Exact
 * while the thread is off the CPU. */
struct has_run_account {
	uint64_t cpu_ns, wait_ns; /* on a CPU; runnable, waiting for one */
	uint64_t slices; /* times it got a CPU; 0: there is no account (no CONFIG_SCHED_INFO) */
};

static inline bool has_run_account_equal(const struct has_run_account *a, const struct has_run_account *b)
{
	return a->cpu_ns == b->cpu_ns && a->wait_ns == b->wait_ns && a->slices == b->slices;
}

/* One look at a thread that was off the CPU. */
struct has_run_look {
	uint64_t checksum;
	struct has_run_account account;
	bool disturbed; /* it was stopped for the look, which costs it CPU time afterwards */
};

/*
 * CPU time that a stop may cost a thread: 5 to 20 us were measured with Linux 6.18 in a virtual machine, where each
 * inter-processor interrupt causes an exit to the hypervisor.
 */
#define HAS_RUN_STOP_NS UINT64_C(50000)

enum has_run_verdict {
	HAS_NOT_RUN,
	HAS_RUN_REGISTERS, /* its registers have changed */
	HAS_RUN_ACCOUNT, /* only its account has: it is in a loop that came back to the same place, such as one of a
			  * single instruction, or around epoll_wait() */
};

enum has_run_verdict has_run_judge(const struct has_run_look *before, const struct has_run_look *now);

#endif
