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

/* A descriptor for PERF_EVENT_IOC_SET_BPF, or -errno: not possible here. */
int perf_filter_open(struct proc *proc);

/* As above from the facts: the group's id in the PID namespace that dev and ino (of its nsfs file)
 * name. dev 0: the id is that of the initial namespace, for kernels without
 * bpf_get_ns_current_pid_tgid (before 5.7). */
int perf_filter_load(uint64_t dev, uint64_t ino, pid_t tgid);

#endif
