#ifndef JS_ENGINE_PERF_FILTER_H
#define JS_ENGINE_PERF_FILTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc;

/*
 * A program of the kernel's that runs at each overflow of a CPU-wide event and lets only samples of
 * one thread group through, or of those that are made members: the stacks of others are not even copied. Raw bpf(2), no
 * library. Needs CAP_BPF and CAP_PERFMON, or root.
 */

struct perf_filter {
	int fd; /* for PERF_EVENT_IOC_SET_BPF */
	bool global; /* ids below are those of the initial PID namespace, which is this program's; else of the target's */
	/*
	 * A bit for each id, shared with the program (BPF_F_MMAPABLE): after the privileges are dropped, bpf(2) is out of
	 * reach. `skip`: threads that are not let through. `members`: processes that are; NULL: the target alone. Both are NULL
	 * where that is not possible (before Linux 5.5).
	 */
	uint64_t *skip, *members;
};

/* `members`: more than the target, which is then to be made a member itself. 0 or -errno: not possible here. *ret is to be
 * closed in both cases. */
int perf_filter_open(struct proc *proc, bool members, struct perf_filter *ret);
void perf_filter_close(struct perf_filter *f);

void perf_filter_skip(const struct perf_filter *f, pid_t tid);
void perf_filter_unskip(const struct perf_filter *f, pid_t tid);
void perf_filter_skip_none(const struct perf_filter *f);
void perf_filter_member(const struct perf_filter *f, pid_t pid, bool is_one);

#endif
