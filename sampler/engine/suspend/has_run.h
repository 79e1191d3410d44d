#ifndef JS_ENGINE_HAS_RUN_H
#define JS_ENGINE_HAS_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/target/regs.h"

/*
 * JVMPI's ThreadHasRun from outside: has a thread used its CPU since it was looked at last? The first
 * opinion is a checksum over its registers, as in the JVMPI paper; the second is the kernel's
 * accounting. Pure functions: what is read where is suspend_threads.h.
 */

/*
 * The registers of a thread that does not run: all of them, of one that is stopped; those that
 * /proc/PID/task/TID/syscall tells, of one that is blocked in a system call.
 */
struct has_run_set {
	struct regs regs;
	/* Number of the system call that it is in (blocked, or to be restarted); negative: in none. */
	int64_t call;
};

struct has_run_arch {
	const char *name;
	/* Equal for sets between which the thread need not have executed an instruction of its own. */
	uint64_t (*checksum)(const struct has_run_set *s);
};

extern const struct has_run_arch has_run_x86_64;
const struct has_run_arch *has_run_host(void);

/* What the kernel accounted to a thread: /proc/PID/task/TID/schedstat (Documentation/scheduler/
 * sched-stats.rst). Exact while the thread is off the CPU. */
struct has_run_account {
	uint64_t cpu_ns, wait_ns; /* on a CPU; runnable, waiting for one */
	uint64_t slices; /* times it got a CPU; 0: the kernel does not tell (no CONFIG_SCHED_INFO) */
};

static inline bool has_run_account_equal(const struct has_run_account *a, const struct has_run_account *b)
{
	return a->cpu_ns == b->cpu_ns && a->wait_ns == b->wait_ns && a->slices == b->slices;
}

/* One look at a thread that was off the CPU. */
struct has_run_look {
	uint64_t checksum;
	struct has_run_account account;
	bool disturbed; /* it was stopped for the look, which costs it CPU time of its own afterwards */
};

/*
 * CPU time that being stopped and resumed may cost a thread: 5 to 20 us on a 6.18 kernel in a virtual
 * machine, where each interrupt between CPUs leaves the guest.
 */
#define HAS_RUN_STOP_NS UINT64_C(50000)

enum has_run_verdict {
	HAS_NOT_RUN,
	HAS_RUN_REGISTERS, /* the checksum says so */
	HAS_RUN_ACCOUNT, /* registers are as they were, its account says so: a loop that comes back to
			  * the same place, of one instruction or through epoll_wait */
};

enum has_run_verdict has_run_judge(const struct has_run_look *before, const struct has_run_look *now);

#endif
