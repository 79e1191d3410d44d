#ifndef JS_ENGINE_PERF_MEMBERS_H
#define JS_ENGINE_PERF_MEMBERS_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Which processes of a host are sampled: the members, each with a divisor. The filter, as in perf_filter.h, serves all
 * of them: of a member's samples on a CPU, one in `divisor` passes; samples of other processes do not pass. The table
 * is in memory shared with the eBPF program, because bpf(2) cannot be called once privileges are given up. A process
 * that has the table mapped decides what is sampled. PIDs are those of the initial PID namespace.
 */
enum { PERF_MEMBERS_MAX = 1024, PERF_DIVISOR_MAX = 1000 };

struct perf_members {
	int fd; /* of the program, for PERF_EVENT_IOC_SET_BPF; -1: none */
	uint64_t *table; /* NULL: not mapped */
	/*
	 * While this is open, a process stops being a member when it executes a program, which may have more rights.
	 * -errno: not available.
	 */
	int exec_fd;
};

/* Needs CAP_BPF and CAP_PERFMON, or root, Linux 5.5, and the initial PID namespace. 0 or -errno. */
int perf_members_open(struct perf_members *ret);
void perf_members_unmap(struct perf_members *m); /* gives up the table: another process has it */
void perf_members_close(struct perf_members *m);

/*
 * Makes the process a member, or changes its divisor. slot: a number below PERF_MEMBERS_MAX that no other member has.
 * -EEXIST: another member has its place in the table; -EINVAL.
 */
int perf_members_set(const struct perf_members *m, pid_t pid, uint32_t slot, uint32_t divisor);
/* Changes the divisor, if it is still a member. 0 or -ESRCH. */
int perf_members_change(const struct perf_members *m, pid_t pid, uint32_t slot, uint32_t divisor);
void perf_members_remove(const struct perf_members *m, pid_t pid);

#endif
