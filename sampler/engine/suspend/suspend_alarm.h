#ifndef JS_ENGINE_SUSPEND_ALARM_H
#define JS_ENGINE_SUSPEND_ALARM_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct ptrace_stop_event;

/*
 * How the thread that stops others waits: in waitid(2) for their answers, with a timer's signal to end the wait. From
 * the end of a wait on, the same signal comes every millisecond and ends a ptrace_stop_ask() that has to wait. This
 * costs a third of poll(2) with a signalfd for SIGCHLD, which also wakes everyone who waits for any signalfd. Belongs
 * to that thread from suspend_alarm_open() on.
 */
struct suspend_alarm {
	timer_t timer;
	bool has_timer; /* otherwise it polls for answers */
	uint64_t set_ns; /* when it first goes off; it repeats after that */
};

/* Can a timer be created? -EAGAIN: RLIMIT_SIGPENDING is reached; nothing would end a wait for the target's execve(). */
int suspend_alarm_check(void);

void suspend_alarm_open(struct suspend_alarm *a);
void suspend_alarm_close(struct suspend_alarm *a);

/*
 * True: a thread answered. False: it is until_ns, or a part of the time has passed.
 * `asked`: an answer is expected; an unexpected one may be found by the next wait only.
 */
bool suspend_alarm_wait(struct suspend_alarm *a, uint64_t until_ns, bool asked, struct ptrace_stop_event *ret);

#endif
