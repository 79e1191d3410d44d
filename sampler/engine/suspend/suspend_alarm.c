#include "sampler/engine/suspend/suspend_alarm.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/engine/suspend/ptrace_stop.h"
#include "symbolizer/base/clock.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* A signal between the last look at the clock and waitid() has no effect; the next one comes this long after it. */
#define AGAIN_NS 1000000
/* Waits are at most this long, to notice that the owner has ended, or wants the waiting to end. */
#define LONGEST_NS UINT64_C(100000000)
#define WITHOUT_TIMER_NS UINT64_C(500000)

static void on_alarm(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	(void)ptrace_stop_break(context);
}

static int alarm_signal(void)
{
	return SIGRTMAX - 3;
}

static void set(struct suspend_alarm *a, uint64_t when_ns)
{
	const struct itimerspec when = {{0, AGAIN_NS}, clock_timespec(when_ns)};

	if (!a->has_timer || a->set_ns == when_ns)
		return;
	timer_settime(a->timer, TIMER_ABSTIME, &when, NULL);
	a->set_ns = when_ns;
}

int suspend_alarm_check(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_NONE};
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0)
		return -errno;
	timer_delete(timer);
	return 0;
}

void suspend_alarm_open(struct suspend_alarm *a)
{
	/* Without SA_RESTART, so that waitid() ends. */
	struct sigaction action = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = alarm_signal()};
	sigset_t mine;

	*a = (struct suspend_alarm){0};
	event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
	sigemptyset(&mine);
	sigaddset(&mine, alarm_signal());
	sigaction(alarm_signal(), &action, NULL);
	pthread_sigmask(SIG_UNBLOCK, &mine, NULL);
	a->has_timer = timer_create(CLOCK_MONOTONIC, &event, &a->timer) == 0;
	set(a, clock_monotonic_ns() + AGAIN_NS);
}

void suspend_alarm_close(struct suspend_alarm *a)
{
	if (a->has_timer)
		timer_delete(a->timer);
	a->has_timer = false;
}

static void sleep_until(uint64_t ns)
{
	const struct timespec until = clock_timespec(ns);

	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* A sleep ends by itself; the timer is then for what comes after it. */
bool suspend_alarm_wait(struct suspend_alarm *a, uint64_t until_ns, bool asked, struct ptrace_stop_event *ret)
{
	uint64_t now = clock_monotonic_ns(), until = earlier(until_ns, now + LONGEST_NS);
	int r;

	set(a, asked ? until : until + AGAIN_NS);
	r = asked && a->has_timer ? ptrace_stop_wait(ret) : ptrace_stop_next(ret);
	if (r == 0)
		sleep_until(a->has_timer ? until : earlier(until, now + WITHOUT_TIMER_NS));
	return r > 0;
}
