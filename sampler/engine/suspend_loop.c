#include "sampler/engine/suspend_loop.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sampler/engine/engine_thread.h"
#include "sampler/engine/prompt.h"
#include "sampler/engine/ptrace_stop.h"
#include "sampler/engine/suspend_tick.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/target/proc.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* Threads that were asked to stop get so long at the end; then the kernel lets them go. */
#define LAST_ANSWERS_NS UINT64_C(200000000)
/* A tick that takes so long waits for an execve() of the target, as a rule. */
#define STUCK_NS 20000000

struct suspend_loop {
	struct suspend_tick tick; /* of the thread, but for what `lock` guards */
	struct suspend_loop_options o;
	pthread_mutex_t lock; /* tick's stats and times, when somebody else reads them */
	pthread_t thread;
	bool started;
	int stop_fd, push_fd, child_fd; /* eventfds; signalfd of SIGCHLD */
	timer_t watchdog;
	bool has_watchdog;
	uint64_t random;
	uint64_t late, skipped; /* ticks */
	uint64_t busy_ns; /* this thread worked since the last tick was planned */
	struct suspend_loop_stats stats; /* under `lock` */
	_Atomic bool stopping, done;
};

static void tell(int fd)
{
	const uint64_t one = 1;

	(void)!write(fd, &one, sizeof(one));
}

/* --- Waiting */

static struct timespec time_until(uint64_t until_ns)
{
	uint64_t now = clock_monotonic_ns(), ns = until_ns > now ? until_ns - now : 0;

	return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

static void wait_answers(struct suspend_loop *l, uint64_t until_ns)
{
	struct pollfd fds[2] = {{.fd = l->stop_fd, .events = POLLIN}, {.fd = l->child_fd, .events = POLLIN}};
	struct timespec left = time_until(until_ns);
	struct signalfd_siginfo info;

	if (ppoll(fds, 2, &left, NULL) > 0 && fds[1].revents)
		(void)!read(l->child_fd, &info, sizeof(info));
}

/* True: there are threads that have not answered. */
static bool answers(struct suspend_loop *l)
{
	uint64_t began = clock_monotonic_ns();
	bool waiting;

	pthread_mutex_lock(&l->lock);
	waiting = suspend_tick_answers(&l->tick);
	pthread_mutex_unlock(&l->lock);
	if (l->tick.pushed)
		tell(l->push_fd);
	l->tick.pushed = false;
	l->busy_ns += clock_monotonic_ns() - began;
	return waiting;
}

static void take_answers(struct suspend_loop *l, uint64_t until_ns)
{
	while (!l->stopping) {
		answers(l);
		if (clock_monotonic_ns() >= until_ns)
			return;
		wait_answers(l, until_ns);
	}
}

/* --- The watchdog */

/* A handler that does nothing would not do: PTRACE_SEIZE is then made again by the kernel. */
static void on_stuck(int signal)
{
	(void)signal;
	ptrace_stop_reap();
}

static int watchdog_signal(void)
{
	return SIGRTMAX - 3;
}

static void watchdog_open(struct suspend_loop *l)
{
	struct sigaction action = {.sa_handler = on_stuck, .sa_flags = SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = watchdog_signal()};
	sigset_t set;

	event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
	sigemptyset(&set);
	sigaddset(&set, watchdog_signal());
	sigaction(watchdog_signal(), &action, NULL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	l->has_watchdog = timer_create(CLOCK_MONOTONIC, &event, &l->watchdog) == 0;
}

/* It goes on barking: a thread may end later than the first time. */
static void watchdog_set(struct suspend_loop *l, long ns)
{
	const struct itimerspec when = {{0, ns}, {0, ns}};

	if (l->has_watchdog)
		timer_settime(l->watchdog, 0, &when, NULL);
}

static void watchdog_close(struct suspend_loop *l)
{
	if (l->has_watchdog)
		timer_delete(l->watchdog);
	l->has_watchdog = false;
}

/* --- Ticks */

/* xorshift64; any sequence that keeps no step with the target will do. */
static uint64_t next_random(struct suspend_loop *l)
{
	l->random ^= l->random << 13;
	l->random ^= l->random >> 7;
	l->random ^= l->random << 17;
	return l->random;
}

static void publish(struct suspend_loop *l)
{
	l->stats.suspend = l->tick.stats;
	l->stats.suspend.late = l->late;
	l->stats.suspend.skipped = l->skipped;
	l->stats.samples = l->tick.samples;
	l->stats.lost = l->tick.lost;
	l->stats.threads = l->tick.threads.n;
}

static void do_tick(struct suspend_loop *l)
{
	uint64_t began = clock_monotonic_ns();

	pthread_mutex_lock(&l->lock);
	watchdog_set(l, STUCK_NS);
	suspend_tick_begin(&l->tick, began);
	watchdog_set(l, 0);
	publish(l);
	pthread_mutex_unlock(&l->lock);
	l->busy_ns += clock_monotonic_ns() - began;
}

/* The next time on the grid; this thread works half of the time at most. */
static uint64_t next_on_grid(struct suspend_loop *l, uint64_t grid)
{
	uint64_t period = l->o.period_ns, next = grid + period, now = clock_monotonic_ns();
	uint64_t soonest = now + (2 * l->busy_ns > period ? 2 * l->busy_ns - period : 0);

	l->busy_ns = 0;
	if (next < soonest) {
		uint64_t skipped = (soonest - next + period - 1) / period;

		l->skipped += skipped;
		next += skipped * period;
	}
	return next;
}

/* Up to an eighth of the period before or behind its time: a target with a period of its own would
 * be seen in the same place again and again. */
static void run_ticks(struct suspend_loop *l)
{
	uint64_t grid = clock_monotonic_ns(), period = l->o.period_ns, due = grid;

	while (!l->stopping && proc_alive(l->tick.proc)) {
		l->late += clock_monotonic_ns() > due + period / 2;
		do_tick(l);
		grid = next_on_grid(l, grid);
		due = grid - period / 8 + next_random(l) % (period / 4 + 1);
		take_answers(l, due);
	}
}

static void finish(struct suspend_loop *l)
{
	uint64_t until = clock_monotonic_ns() + LAST_ANSWERS_NS;

	while (answers(l) && clock_monotonic_ns() < until)
		wait_answers(l, clock_monotonic_ns() + LAST_ANSWERS_NS / 100);
	pthread_mutex_lock(&l->lock);
	suspend_tick_flush(&l->tick);
	publish(l);
	l->stats.target_ended = !proc_alive(l->tick.proc);
	pthread_mutex_unlock(&l->lock);
}

static void *loop_main(void *arg)
{
	struct suspend_loop *l = arg;

	prompt_raise_priority();
	watchdog_open(l);
	run_ticks(l);
	watchdog_close(l);
	finish(l);
	l->done = true;
	tell(l->push_fd);
	return NULL;
}

/* --- Life */

int suspend_loop_new(struct proc *proc, struct sample_queue *q, struct sample_queue *wishes,
		     const struct suspend_loop_options *o, struct suspend_loop **ret, struct err *err)
{
	struct suspend_loop *l = calloc(1, sizeof(*l));
	sigset_t set;
	int r;

	if (!l)
		return err_set(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&l->lock, NULL);
	l->o = *o;
	l->random = clock_monotonic_ns() | 1;
	l->tick = (struct suspend_tick){.proc = proc,
					.queue = q,
					.wishes = wishes,
					.wall = o->wall,
					.ask_first = o->ask_first,
					.aside = o->aside,
					.period_ns = o->period_ns,
					.max_pause_ns = o->max_pause_ns};
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	l->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->push_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->child_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	r = suspend_tick_init(&l->tick, err);
	if (r == 0 && (l->stop_fd < 0 || l->push_fd < 0 || l->child_fd < 0))
		r = err_set(err, -EMFILE, "out of descriptors (ulimit -n)");
	/* Threads of this program that begin later block it too, so that it waits in the signalfd. */
	if (r == 0)
		pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (r < 0) {
		suspend_loop_close(l);
		return r;
	}
	*ret = l;
	return 0;
}

int suspend_loop_start(struct suspend_loop *l, struct err *err)
{
	int r = engine_thread_start(&l->thread, "jsampler-stop", 0, loop_main, l);

	if (r < 0)
		return err_set(err, r, "cannot start a thread: %s", strerror(-r));
	l->started = true;
	return 0;
}

void suspend_loop_stop(struct suspend_loop *l)
{
	l->stopping = true;
	tell(l->stop_fd);
}

bool suspend_loop_done(const struct suspend_loop *l)
{
	return l->done;
}

void suspend_loop_wait(struct suspend_loop *l, uint64_t until_ns)
{
	struct pollfd fd = {.fd = l->push_fd, .events = POLLIN};
	struct timespec left = time_until(until_ns);
	uint64_t n;

	if (ppoll(&fd, 1, until_ns ? &left : NULL, NULL) > 0)
		(void)!read(l->push_fd, &n, sizeof(n));
}

struct suspend_loop_stats suspend_loop_stats(struct suspend_loop *l)
{
	struct suspend_times pause, stop, copy, spread;
	struct suspend_loop_stats s;

	pthread_mutex_lock(&l->lock); /* threads may be stopped that wait for it: not for long */
	s = l->stats;
	pause = l->tick.pause;
	stop = l->tick.stop;
	copy = l->tick.copy;
	spread = l->tick.spread;
	pthread_mutex_unlock(&l->lock);
	s.suspend.pause = suspend_times_of(&pause);
	s.suspend.stop = suspend_times_of(&stop);
	s.suspend.copy = suspend_times_of(&copy);
	s.suspend.spread = suspend_times_of(&spread);
	return s;
}

void suspend_loop_close(struct suspend_loop *l)
{
	if (!l)
		return;
	if (l->started) {
		suspend_loop_stop(l);
		pthread_join(l->thread, NULL);
	}
	suspend_tick_done(&l->tick);
	if (l->stop_fd >= 0)
		close(l->stop_fd);
	if (l->push_fd >= 0)
		close(l->push_fd);
	if (l->child_fd >= 0)
		close(l->child_fd);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
