#ifndef JS_ENGINE_SUSPEND_ALARM_H
#define JS_ENGINE_SUSPEND_ALARM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct ptrace_stop_event;

/*
 * How the thread that stops others waits: in waitid(2) for their answers, with a timer's signal for the end of it. The same
 * signal, each millisecond from the end of a wait on, ends a ptrace_stop_ask() that must wait.
 * That costs a third of a poll(2) with a signalfd of SIGCHLD, which besides wakes all who wait for any signalfd.
 * Belongs to that thread, from suspend_alarm_open() on.
 */
struct suspend_alarm {
	timer_t timer;
	bool has_timer; /* else it looks for answers every now and then */
	uint64_t set_ns; /* when it goes off first; then again and again */
};

/* May there be a timer? -EAGAIN: RLIMIT_SIGPENDING is reached, and nothing would end a wait for the target's execve(). */
int suspend_alarm_check(void);

void suspend_alarm_open(struct suspend_alarm *a);
void suspend_alarm_close(struct suspend_alarm *a);

/*
 * True: somebody answered. False: it is until_ns, or a part of the time has gone by, or suspend_alarm_ring().
 * `asked`: an answer is expected; one that is not may be found by the next wait only.
 */
bool suspend_alarm_wait(struct suspend_alarm *a, uint64_t until_ns, bool asked, struct ptrace_stop_event *ret);
/* From any thread: ends a wait. One that is just about to begin may not hear it, and ends in 0.1 s. */
void suspend_alarm_ring(pthread_t waiter);

#endif
