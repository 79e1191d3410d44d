#ifndef JS_SESSION_PRIVS_H
#define JS_SESSION_PRIVS_H

#include <stdbool.h>

struct err;

/*
 * Gives up every privilege that sampling does not need any more. Call when the events, the target's
 * memory and the outputs are open, before any thread is started and any file of the target is parsed.
 *
 * Kept, where they were held: CAP_SYS_PTRACE (reading memory, /proc/PID/root), CAP_PERFMON (events
 * for a larger stack copy; CAP_SYS_ADMIN instead on kernels before 5.8), CAP_CHECKPOINT_RESTORE
 * (/proc/PID/map_files), CAP_DAC_READ_SEARCH (private libraries of another user), and
 * CAP_DAC_OVERRIDE only if the outputs cannot be named without it (needs).
 * Also no_new_privs, and a system call filter without execve, ptrace, mount, module loading,
 * writing to other processes. 0 or -errno.
 */
struct privs_needs {
	bool dac_override;
};

int privs_drop(const struct privs_needs *needs, struct err *err);

/* Lets threads that start later take this nice value without a capability. */
void privs_allow_nice(int nice);

#endif
