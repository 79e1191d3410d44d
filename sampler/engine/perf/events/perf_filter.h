#ifndef JS_ENGINE_PERF_FILTER_H
#define JS_ENGINE_PERF_FILTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc;

/*
 * An eBPF program that runs at each overflow of a CPU-wide event. Only samples of one process pass, or of the
 * processes that are made members; the stacks of others are not even copied. Uses bpf(2) without a library. Needs
 * CAP_BPF and CAP_PERFMON, or root.
 */

struct perf_filter {
	int fd; /* for PERF_EVENT_IOC_SET_BPF */
	bool global; /* IDs are of the initial PID namespace, which is this program's; otherwise of the target's */
	/*
	 * One bit per ID, in memory shared with the program (BPF_F_MMAPABLE), because bpf(2) is not permitted once
	 * privileges are dropped. `skip`: threads that do not pass. `members`: processes that do; NULL: only the
	 * target. Both are NULL before Linux 5.5, which does not support this.
	 */
	uint64_t *skip, *members;
};

/* `members`: members will be chosen, the target among them. 0, or -errno: not possible here. Close *ret in either
 * case. */
int perf_filter_open(struct proc *proc, bool members, struct perf_filter *ret);
/* For any processes, which are made members; only in the initial PID namespace. */
int perf_filter_open_many(struct perf_filter *ret);
void perf_filter_close(struct perf_filter *f);

void perf_filter_skip(const struct perf_filter *f, pid_t tid);
void perf_filter_unskip(const struct perf_filter *f, pid_t tid);
void perf_filter_skip_none(const struct perf_filter *f);
void perf_filter_member(const struct perf_filter *f, pid_t pid, bool is_one); /* adds or removes a member */

#endif
