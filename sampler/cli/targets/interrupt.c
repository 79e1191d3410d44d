#include "sampler/cli/targets/interrupt.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "sampler/rights/privs.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"

/* timeout(1) and others signal a process and then its group: count that as one signal. */
#define SAME_NS UINT64_C(250000000)

enum { MESSAGE_NS = 300000000 };

static struct {
	sigset_t set;
	int fd;
	_Atomic int phase;
	_Atomic pid_t command;
	bool closed; /* the thread has no privileges to drop; set before it starts */
	int (*send)(void *ctx, int signal); /* NULL: kill(2); set before the thread starts */
	void *send_ctx;
	pthread_mutex_t lock; /* protects end_naming and its ctx */
	void (*end_naming)(void *ctx);
	void *ctx;
	bool naming_ends; /* requested */
	/* Only used by the thread: */
	unsigned count;
	uint64_t last_ns;
} at = {.fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_ignored(int sig)
{
	struct sigaction now;

	return sigaction(sig, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/* From now on, the signal has its default effect. */
static void restore_default_action(int sig)
{
	sigset_t one;

	signal(sig, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, sig);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
}

/* Ends the program by the signal itself, which shells tell apart from an exit status. */
static void end_by(int sig)
{
	restore_default_action(sig);
	raise(sig);
	_exit(128 + sig);
}

/* stderr may have no reader, so the message must not delay the end: a timer's signal ends a write that hangs. */
static void end_with_message(int sig)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = sig};
	const struct itimerspec soon = {.it_value.tv_nsec = MESSAGE_NS};
	timer_t timer;

	restore_default_action(sig);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &soon, NULL) == 0)
		log_warn("ended by a second signal: what has not been written yet is lost");
	end_by(sig);
}

/* Returns whether the signal is for the command alone; passes it on if needed. */
static bool hand_on(int sig, pid_t command, int phase)
{
	if (!command)
		return false;
	if (sig != SIGINT && at.send)
		at.send(at.send_ctx, sig);
	else if (sig != SIGINT)
		kill(command, sig);
	return phase == INTERRUPT_SAMPLING || phase == INTERRUPT_WAITING;
}

static bool is_same(const siginfo_t *info)
{
	uint64_t now = clock_monotonic_ns(), last = at.last_ns;

	at.last_ns = now;
	return at.count && info->si_code == SI_USER && now - last < SAME_NS;
}

static void end_naming(void)
{
	pthread_mutex_lock(&at.lock);
	at.naming_ends = true;
	if (at.end_naming)
		at.end_naming(at.ctx);
	pthread_mutex_unlock(&at.lock);
}

static void take(const siginfo_t *info)
{
	int phase = at.phase;
	pid_t command = at.command;
	const uint64_t one = 1;

	if (hand_on(info->si_signo, command, phase) || is_same(info))
		return;
	/* With a command, wait for the command's end instead. */
	if (phase == INTERRUPT_OPENING && !command)
		end_by(info->si_signo);
	if (++at.count > 1)
		end_with_message(info->si_signo);
	if (phase == INTERRUPT_SAMPLING)
		(void)!write(at.fd, &one, sizeof(one));
	else if (phase == INTERRUPT_FINISHING)
		end_naming();
}

static void *wait_for_signals(void *arg)
{
	struct err err = {0};
	siginfo_t info;

	/* If a parser is taken over, it must not find a thread with more privileges than its own. */
	if (!at.closed && privs_drop_all(&err) < 0)
		log_info("%s", err.msg);
	for (;;)
		if (sigwaitinfo(&at.set, &info) > 0)
			take(&info);
	return arg;
}

/*
 * A blocked signal is delivered here even if it is ignored, so an ignored SIGHUP (nohup) is not blocked. SIGINT is:
 * shells ignore it in background jobs of scripts, and scripts use it to end a recording.
 */
int interrupt_start(bool closed, struct err *err)
{
	pthread_t thread;
	int r;

	sigemptyset(&at.set);
	sigaddset(&at.set, SIGINT);
	sigaddset(&at.set, SIGTERM);
	if (!is_ignored(SIGHUP))
		sigaddset(&at.set, SIGHUP);
	r = pthread_sigmask(SIG_BLOCK, &at.set, NULL);
	at.fd = r == 0 ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
	if (at.fd < 0)
		return err_set(err, -errno, "cannot wait for signals: %m");
	at.closed = closed;
	r = pthread_create(&thread, NULL, wait_for_signals, NULL);
	if (r)
		return err_set(err, -r, "cannot start a thread: %s", strerror(r));
	pthread_detach(thread);
	return 0;
}

void interrupt_set_phase(enum interrupt_phase phase)
{
	at.phase = phase;
}

void interrupt_set_command(pid_t pid, int (*send)(void *ctx, int signal), void *ctx)
{
	at.command = pid;
	at.send = send;
	at.send_ctx = ctx;
}

int interrupt_fd(void)
{
	return at.fd;
}

void interrupt_set_naming(void (*end)(void *ctx), void *ctx)
{
	pthread_mutex_lock(&at.lock);
	at.end_naming = end;
	at.ctx = ctx;
	if (end && at.naming_ends)
		end(ctx);
	pthread_mutex_unlock(&at.lock);
}
