#ifndef JS_BRIDGE_CLOCK_H
#define JS_BRIDGE_CLOCK_H

#include "jvm-bridge/host/base/bridge.h"

/*
 * A clock that expires whenever its thread has used `period` ns of CPU time, and sends the thread SIGURG if that is in
 * user mode then: the kernel drops what expires while it works for the thread (perf_swevent_hrtimer() in
 * kernel/events/core.c).
 *
 * SIGURG, because its default is to be ignored: one that comes when nobody handles it any more does no harm, and
 * programs expect to get it for no reason. Only user mode, because a signal that comes while the kernel works for the
 * thread can make a system call return EINTR, SA_RESTART or not. A perf event can be made so, and tells at once; POSIX
 * timers of a thread's CPU clock do not.
 */
struct clock {
	int fd; /* -1: none */
	uint64_t id; /* of the event: whether fd is still ours */
	uint32_t tid;
	uint64_t period;
};

/* Takes the signal. -EBUSY: it has a handler already. */
int clock_signal_take(void (*handler)(int fd, const void *ucontext));
bool clock_signal_is_ours(void); /* false: somebody else has a handler now */

/* Of the thread with that tid; does not run yet. -EMFILE: too many; others: the kernel's. */
int clock_make(struct clock *c, uint32_t tid, uint64_t period);
void clock_run(struct clock *c); /* from now on */
void clock_period(struct clock *c, uint64_t period);
void clock_stop(struct clock *c);

#endif
