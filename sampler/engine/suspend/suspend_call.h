#ifndef JS_ENGINE_SUSPEND_CALL_H
#define JS_ENGINE_SUSPEND_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/target/regs.h"

/*
 * System calls that fail with EINTR when their thread is stopped, although no signal handler runs: see signal(7),
 * "Interruption of system calls and library functions by stop signals", and sock_intr_errno() in
 * linux/include/net/sock.h, which is not mentioned there. If the call is repeated, the program does not notice.
 */
struct suspend_call {
	bool again; /* may be repeated: nothing has been done yet */
	int timeout_arg; /* index of the argument that is a timeout in ms; -1: none, or not in a register */
	uint64_t timeout; /* the rest of that timeout */
	bool longer; /* has, or may have, a timeout that starts anew */
};

/* For call `nr` with its arguments in `r`, interrupted after at most waited_ns. */
struct suspend_call suspend_call_again(int64_t nr, const struct regs *r, uint64_t waited_ns);

/*
 * May a thread that is blocked in this call be stopped without the program noticing? Yes, if the kernel restarts the
 * call with the rest of its timeout, or if it has no timeout and is repeated. *ret_fd: only if this is not a socket;
 * negative: in any case.
 */
bool suspend_call_unharmed(int64_t nr, const struct regs *r, int *ret_fd);

/* Does the call merely wait for time to pass? */
bool suspend_call_sleeps(int64_t nr);

#endif
