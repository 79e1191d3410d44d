#ifndef JS_TARGET_PROC_H
#define JS_TARGET_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct stat;

/*
 * A process, through a descriptor of its /proc directory (proc(5)): if the PID is reused, reads give -ESRCH instead of
 * another process's data.
 */
struct proc;

int proc_open(pid_t pid, struct proc **ret, struct err *err); /* -ESRCH: no such process */
void proc_close(struct proc *p);

pid_t proc_pid(const struct proc *p);
int proc_dirfd(const struct proc *p); /* borrowed; -1: opened by the deputy (deputy.h) */
int proc_pidfd(const struct proc *p); /* borrowed; -1: the kernel has none, or refused it */
int proc_number(struct proc *p, uint32_t *ret); /* the deputy's number for it; only with a deputy. 0 or -errno */
bool proc_is_kernels(const struct proc *p); /* a thread of the kernel, which has no memory of its own */
bool proc_alive(struct proc *p); /* same process, not a zombie */
/* It has ended, or its first thread is exiting and the others follow within a moment, for which this waits. */
bool proc_gone(struct proc *p);
/* It has ended, or its first thread is exiting, also if that takes long; does not wait. */
bool proc_exiting(struct proc *p);
/*
 * Its first thread has ended, but others have not. Its memory cannot be read: until the execve(2) of another thread
 * completes, or permanently.
 */
bool proc_first_ended(struct proc *p);

/* Start time in clock ticks since boot (field 22 of stat); with the PID it identifies the process. */
uint64_t proc_start_ticks(const struct proc *p);
int proc_state(struct proc *p, char *ret); /* of its first thread: a letter, proc_pid_stat(5). 0 or -errno */
int proc_started(pid_t pid,
		 uint64_t *ret_ticks); /* of the process that has this PID, if it has not ended. 0 or -errno */
bool proc_is_there(pid_t pid, uint64_t start_ticks); /* the PID is still that of the process that began then */

/*
 * Opens a file of the process, or of a thread if tid is not 0, for reading. A descriptor or -errno. -ENOENT for
 * negative tids, which perf events report for threads that have ended (perf_event_pid_type(), linux/kernel/events/core.c).
 */
int proc_file(struct proc *p, pid_t tid, const char *name);
/* Reads such a file and adds a NUL; the caller frees *ret. For a thread, -ESRCH: it has ended. */
int proc_read(struct proc *p, const char *name, size_t max, char **ret, size_t *ret_len);
int proc_read_task(struct proc *p, pid_t tid, const char *name, size_t max, char **ret, size_t *ret_len);

struct proc_status {
	uid_t uid, euid; /* real, effective */
	gid_t egid;
	pid_t tgid;
	pid_t ns_pid; /* in the innermost PID namespace (last of NSpid) */
	pid_t tracer; /* 0: none */
	uint64_t sig_caught; /* SigCgt */
	uint64_t cap_effective; /* CapEff */
	int seccomp; /* 0: none, 1: strict, 2: filter */
	uint64_t seccomp_filters; /* 0: none, or before Linux 5.9 */
	bool no_new_privs;
	uint64_t threads;
};
int proc_status(struct proc *p, struct proc_status *ret);
/* Translates a host tid into the tid in the target's own PID namespace. -ESRCH: the thread has ended. */
int proc_ns_tid(struct proc *p, pid_t tid, pid_t *ret);

int proc_exe(struct proc *p, char *buf, size_t size); /* readlink of exe */
int proc_comm(struct proc *p, pid_t tid, char *buf, size_t size);
int proc_cmdline(struct proc *p, char **ret, size_t *ret_len); /* NUL-separated */

/* Namespaces: "pid", "mnt", "user", "net". */
int proc_ns(struct proc *p, const char *ns, struct stat *ret); /* device and inode identify it. 0 or -errno */
bool proc_same_ns(struct proc *p, const char *ns); /* the same as this program's? true, too, if unknown */
void proc_note_own_namespaces(void); /* call it while /proc can still be opened */
bool proc_initial_pids(void); /* is this program in the initial PID namespace? false, too, if unknown */
/* Is this program in another PID namespace than the initial one, as in most containers? false, too, if unknown. */
bool proc_own_pids(void);
const char *proc_own_pids_advice(void); /* ends a message that a process was not found; "" if that is not the cause */

/* CPU time (user + system, whole thread group) in ns; per thread from schedstat (first field). */
int proc_cpu_ns(struct proc *p, uint64_t *ret);
int proc_thread_cpu_ns(struct proc *p, pid_t tid, uint64_t *ret);
/* CPU time of the children that it has waited for, and of theirs; in whole ticks. */
int proc_waited_cpu_ns(struct proc *p, uint64_t *ret);
/* CPU time in the kernel, in whole ticks; tid 0: of the whole thread group. */
int proc_system_ns(struct proc *p, pid_t tid, uint64_t *ret);
int proc_thread_age_ns(struct proc *p, pid_t tid, uint64_t *ret); /* since its creation, in whole ticks (10 ms) */
int proc_thread_cpu(struct proc *p, pid_t tid, int *ret); /* the CPU it last ran on */

/*
 * The threads, read until two readings agree, at most 8 times. The caller frees *ret.
 */
int proc_tasks(struct proc *p, pid_t **ret, size_t *ret_n);

/* All processes but this one. 0 or -errno. The caller frees *ret. */
struct proc_entry {
	pid_t pid;
	uint64_t id; /* the inode of /proc/PID; it changes if the PID is reused, but may also change otherwise */
};
int proc_entries(struct proc_entry **ret, size_t *ret_n);
int proc_others(pid_t **ret, size_t *ret_n);

/*
 * The descendants of `p`, as far as their parents still exist; parents come first. Reads /proc once, for half a second
 * at most, so some are missing if there are too many processes for that. The caller frees *ret.
 */
int proc_descendants(struct proc *p, pid_t **ret, size_t *ret_n);

#endif
