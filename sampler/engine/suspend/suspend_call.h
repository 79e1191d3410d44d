#ifndef JS_ENGINE_SUSPEND_CALL_H
#define JS_ENGINE_SUSPEND_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/target/regs.h"

/*
 * System calls that the kernel ends with EINTR when their thread is stopped, though no signal handler
 * runs (signal(7), "Interruption of system calls and library functions by stop signals", and more that is
 * not written there: sock_intr_errno() in linux/include/net/sock.h). Made again, they wait on.
 */
struct suspend_call {
	bool again; /* may be made again with the same arguments: nothing was done yet */
	int timeout_arg; /* argument that is a timeout in ms; -1: none, or not in a register */
	uint64_t timeout; /* for it: what is left */
	bool longer; /* has a timeout, or may have one, that begins anew */
};

/* Call `nr` with its arguments in `r` was interrupted after at most waited_ns. */
struct suspend_call suspend_call_again(int64_t nr, const struct regs *r, uint64_t waited_ns);

/*
 * Does a stop of a thread that is blocked in the call pass without the program's noticing: the kernel restarts it,
 * with what is left of a timeout, or it has none and is made again? *ret_fd: only if this is no socket; negative: in
 * any case.
 */
bool suspend_call_unharmed(int64_t nr, const struct regs *r, int *ret_fd);

/* Does the call only wait for time to pass? */
bool suspend_call_sleeps(int64_t nr);

#endif
