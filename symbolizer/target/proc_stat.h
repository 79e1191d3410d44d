#ifndef JS_TARGET_PROC_STAT_H
#define JS_TARGET_PROC_STAT_H

#include <stdint.h>

#include "symbolizer/target/proc.h"

/* Text of /proc/PID/stat and /proc/PID/status, proc(5). */

struct proc_stat {
	char state;
	pid_t ppid;
	uint64_t flags; /* PF_* of linux/sched.h */
	uint64_t utime, stime; /* ticks of sysconf(_SC_CLK_TCK) */
	uint64_t cutime, cstime; /* the same for waited-for children, and for theirs */
	uint64_t n_threads;
	uint64_t start; /* ticks since boot */
};

/* Read and parse it, for a process that is found by its PID only. 0 or -errno. */
int proc_stat_of(pid_t pid, struct proc_stat *ret);
int proc_status_of(pid_t pid, struct proc_status *ret);
uint64_t proc_ticks_ns(uint64_t ticks);
/* -EINVAL: malformed. The thread's name in the text may contain anything, even parentheses and line ends. */
int proc_stat_parse(const char *text, struct proc_stat *ret);
/* The CPU that the thread runs on or last ran on (field 39); -EINVAL: malformed. */
int proc_stat_cpu(const char *text, int *ret);
int proc_status_parse(const char *text, struct proc_status *ret);

#endif
