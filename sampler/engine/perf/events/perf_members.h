#ifndef JS_ENGINE_PERF_MEMBERS_H
#define JS_ENGINE_PERF_MEMBERS_H

#include <stdint.h>
#include <sys/types.h>

/*
 * What is sampled of a whole host: the processes that are members, each with a divisor. A filter as in perf_filter.h, for all of them: of a
 * member's samples on a CPU one in `divisor` passes, of others none. The table is memory that is shared with the program, because bpf(2) is
 * out of reach once privileges are given up; whoever has it mapped decides what is sampled. PIDs are those of the initial PID namespace.
 */
enum { PERF_MEMBERS_MAX = 1024, PERF_DIVISOR_MAX = 1000 };

struct perf_members {
	int fd; /* of the program, for PERF_EVENT_IOC_SET_BPF; -1: none */
	uint64_t *table; /* NULL: not mapped */
	/* While it is open, a process that executes a program, which may have more rights, stops being a member. -errno: none. */
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
/* Another divisor, if it is still a member. 0 or -ESRCH. */
int perf_members_change(const struct perf_members *m, pid_t pid, uint32_t slot, uint32_t divisor);
void perf_members_remove(const struct perf_members *m, pid_t pid);

#endif
