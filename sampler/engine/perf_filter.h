#ifndef JS_ENGINE_PERF_FILTER_H
#define JS_ENGINE_PERF_FILTER_H

#include <stdint.h>
#include <sys/types.h>

struct proc;

/*
 * A program of the kernel's that runs at each overflow of a CPU-wide event and lets only samples of
 * one thread group through: the stacks of others are not even copied. Raw bpf(2), no library.
 * Needs CAP_BPF and CAP_PERFMON, or root.
 */

struct perf_filter {
	int fd; /* for PERF_EVENT_IOC_SET_BPF */
	/*
	 * Threads that are not let through: a bit each, by the tid in the target's PID namespace. Shared with the
	 * program (BPF_F_MMAPABLE): after the privileges are dropped, bpf(2) is out of reach. NULL: not possible
	 * here (before Linux 5.5).
	 */
	uint64_t *skip;
};

/* 0 or -errno: not possible here. *ret is to be closed in both cases. */
int perf_filter_open(struct proc *proc, struct perf_filter *ret);
void perf_filter_close(struct perf_filter *f);

/* Threads by their tids in the target's PID namespace. */
void perf_filter_skip(const struct perf_filter *f, pid_t ns_tid);
void perf_filter_unskip(const struct perf_filter *f, pid_t ns_tid);
void perf_filter_skip_none(const struct perf_filter *f);

#endif
