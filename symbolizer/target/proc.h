#ifndef JS_TARGET_PROC_H
#define JS_TARGET_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/*
 * A process, seen through a descriptor of its /proc directory: when the PID is reused, reads give
 * -ESRCH instead of another process's facts. proc(5).
 */
struct proc;

int proc_open(pid_t pid, struct proc **ret, struct err *err); /* -ESRCH: no such process */
void proc_close(struct proc *p);

pid_t proc_pid(const struct proc *p);
int proc_dirfd(const struct proc *p); /* borrowed */
bool proc_alive(struct proc *p); /* same process, not a zombie */
bool proc_ending(struct proc *p); /* its last thread is on the way out: its memory may be gone already */

/* Start time in clock ticks since boot (field 22 of stat): with the PID, an identity. */
uint64_t proc_start_ticks(const struct proc *p);

/* `path` below /proc/PID, whole, NUL-terminated; *ret is the caller's. */
int proc_read(struct proc *p, const char *path, size_t max, char **ret, size_t *ret_len);

struct proc_status {
	uid_t uid, euid; /* real, effective */
	gid_t egid;
	pid_t tgid;
	pid_t ns_pid; /* in the innermost PID namespace (last of NSpid) */
	pid_t tracer; /* 0: none */
	uint64_t sig_caught; /* SigCgt */
	uint64_t threads;
};
int proc_status(struct proc *p, struct proc_status *ret);
/* Host tid -> tid in the target's own PID namespace; -ESRCH when the thread is gone. */
int proc_ns_tid(struct proc *p, pid_t tid, pid_t *ret);

int proc_exe(struct proc *p, char *buf, size_t size); /* readlink of exe */
int proc_comm(struct proc *p, pid_t tid, char *buf, size_t size);
int proc_cmdline(struct proc *p, char **ret, size_t *ret_len); /* NUL-separated */

/* Same PID namespace / mount namespace as this program? Unknown counts as the same. */
bool proc_same_ns(struct proc *p, const char *ns); /* "pid", "mnt", "user", "net" */

/* CPU time (user + system, whole thread group) in ns; per-thread from schedstat (first field). */
int proc_cpu_ns(struct proc *p, uint64_t *ret);
int proc_thread_cpu_ns(struct proc *p, pid_t tid, uint64_t *ret);
/* Of the children that it has waited for, and of theirs; to a tick. */
int proc_waited_cpu_ns(struct proc *p, uint64_t *ret);
/* Of it in the kernel, to a tick; tid 0: of the whole thread group. */
int proc_system_ns(struct proc *p, pid_t tid, uint64_t *ret);
int proc_thread_age_ns(struct proc *p, pid_t tid, uint64_t *ret); /* since it was made, to a tick (10 ms) */
int proc_thread_cpu(struct proc *p, pid_t tid, int *ret); /* that it last ran on */

/*
 * Threads, re-read until two readings agree or 8 were made. *ret is the caller's. New threads are
 * found by comparing with the previous list.
 */
int proc_tasks(struct proc *p, pid_t **ret, size_t *ret_n);

/*
 * The processes that `p` has started, and theirs, as far as their parents are still there; parents come first. Reads
 * /proc once. *ret is the caller's.
 */
int proc_descendants(struct proc *p, pid_t **ret, size_t *ret_n);

#endif
