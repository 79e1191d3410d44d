#ifndef JS_RIGHTS_PRIVS_H
#define JS_RIGHTS_PRIVS_H

#include <stdbool.h>

struct err;

/*
 * Gives up every privilege that sampling no longer needs. Call when the events, the target's memory and the outputs
 * are open, before any file of the target is parsed, and before any thread is started that does not give up its
 * privileges by itself.
 *
 * Kept if held: CAP_SYS_PTRACE (reading memory, /proc/PID/root), CAP_PERFMON (events for a larger stack copy;
 * CAP_SYS_ADMIN instead on kernels before 5.8), CAP_CHECKPOINT_RESTORE (/proc/PID/map_files), CAP_DAC_READ_SEARCH
 * (private libraries of another user), and CAP_SYS_NICE only if the limits that make it unnecessary cannot be raised
 * (needs). Also sets no_new_privs and a system call filter without execve, ptrace, mount, module loading
 * and writing to other processes. 0 or -errno.
 */
struct privs_needs {
	bool priority; /* keep CAP_SYS_NICE */
	bool identity; /* keep CAP_SETUID and CAP_SETGID, to open files as their owners (setfsuid(2)) */
	bool reading; /* parses nothing: keep all without CAP_SYS_PTRACE, since it may read only processes that have no more (ptrace(2)) */
};

int privs_drop(const struct privs_needs *needs, struct err *err);

/*
 * Call at the start if memory of other users' processes may be read: this process and its children dump no core, and
 * cannot be traced without CAP_SYS_PTRACE. A command that is executed can be traced again. (PR_SET_DUMPABLE; a core
 * limit of 0 would not do if cores are piped to a program, core(5).)
 */
void privs_guard_memory(void);

/* Drops all privileges of the calling thread. 0 or -errno. */
int privs_drop_all(struct err *err);

/*
 * For commands that only read and write profiles, before anything is parsed: keeps at most
 * CAP_DAC_OVERRIDE. 0 or -errno.
 */
int privs_drop_for_files(struct err *err);

/*
 * Lets threads that start later take this nice value, and the lowest real-time priority, without a capability. False:
 * not permitted; CAP_SYS_NICE is needed (privs_needs.priority).
 */
bool privs_allow_priority(int nice);

#endif
