#include "sampler/engine/suspend/suspend_loop.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "sampler/engine/engine_thread.h"
#include "sampler/engine/sample_queue.h"
#include "sampler/engine/suspend/ptrace_stop.h"
#include "sampler/engine/suspend/suspend_alarm.h"
#include "sampler/engine/suspend/suspend_demand.h"
#include "sampler/engine/suspend/suspend_tick.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/random.h"
#include "symbolizer/target/proc.h"

/* At the end, threads that were asked to stop have this long to do so; then the kernel releases them. */
#define LAST_ANSWERS_NS UINT64_C(200000000)
#define STUBBORN_NS 200000
/* How long a sample may wait for more to come before the owner is told: it reads the target's memory, which changes. */
#define TELL_NS UINT64_C(2000000)
#define ALIVE_NS UINT64_C(20000000)
#define DEFAULT_PAUSE_NS UINT64_C(2000000)

struct suspend_loop {
	struct suspend_tick tick; /* used by the thread only, except for what `lock` protects */
	pthread_mutex_t lock; /* of tick's stats and times, when other threads read them */
	pthread_t thread;
	bool started;
	struct suspend_alarm alarm; /* of the thread, as is the next */
	struct suspend_demand demand;
	int push_fd; /* eventfd: there may be something in the queue */
	_Atomic bool owner_waits;
	uint64_t
		unreported_since_ns; /* since when the queue has held something that the owner has not been told of; 0: nothing */
	uint64_t alive_ns; /* when the target was last seen alive */
	uint64_t random;
	uint64_t late, skipped; /* ticks */
	uint64_t busy_ns; /* how long this thread has worked since the last tick was planned */
	struct suspend_loop_stats stats; /* under `lock` */
	_Atomic bool stopping, done;
};

static void tell(int fd)
{
	const uint64_t one = 1;

	(void)!write(fd, &one, sizeof(one));
}

/* Wakes the owner if it waits for the queue. `later`: more is about to come, so it need not wake for each message. */
static void wake_owner(struct suspend_loop *l, bool later, uint64_t now_ns)
{
	if (!l->tick.out.pushed)
		return;
	if (!l->unreported_since_ns)
		l->unreported_since_ns = now_ns;
	if (later && now_ns - l->unreported_since_ns < TELL_NS)
		return;
	l->tick.out.pushed = false;
	l->unreported_since_ns = 0;
	atomic_thread_fence(memory_order_seq_cst); /* with the one in suspend_loop_wait() */
	if (atomic_exchange(&l->owner_waits, false))
		tell(l->push_fd);
}

/* --- Answers */

static void answer(struct suspend_loop *l, const struct ptrace_stop_event *e)
{
	uint64_t began = clock_monotonic_ns(), now;
	bool gone;

	pthread_mutex_lock(&l->lock);
	gone = suspend_tick_answer(&l->tick, e);
	pthread_mutex_unlock(&l->lock);
	now = clock_monotonic_ns();
	wake_owner(l, l->tick.asked, now);
	l->busy_ns += now - began;
	if (!gone) /* it answers again at once */
		nanosleep(&(struct timespec){.tv_nsec = STUBBORN_NS}, NULL);
}

/* Takes all answers that have come, however late it is, because their threads are stopped. */
static void take_answers(struct suspend_loop *l, uint64_t until_ns)
{
	size_t most = 2 * l->tick.threads.n + 32; /* a thread that cannot be resumed answers again and again */
	struct ptrace_stop_event e;

	while (!l->stopping) {
		bool there = suspend_alarm_wait(&l->alarm, until_ns, l->tick.asked, &e);

		if (there)
			answer(l, &e);
		if (clock_monotonic_ns() >= until_ns && (!there || !most))
			return;
		most -= most > 0;
	}
}

/* --- Ticks */

static void publish(struct suspend_loop *l)
{
	l->stats.suspend = l->tick.stats;
	l->stats.suspend.again = l->tick.out.again;
	l->stats.suspend.late = l->late;
	l->stats.suspend.skipped = l->skipped;
	l->stats.samples = l->tick.out.samples;
	l->stats.lost = l->tick.out.lost;
	l->stats.threads = l->tick.threads.n;
}

static void do_tick(struct suspend_loop *l)
{
	uint64_t began = clock_monotonic_ns();

	pthread_mutex_lock(&l->lock);
	suspend_tick_begin(&l->tick, began);
	publish(l);
	pthread_mutex_unlock(&l->lock);
	wake_owner(l, false, began);
	l->busy_ns += clock_monotonic_ns() - began;
}

/* The next time on the grid that lets this thread work, or wait for a CPU to do so, at most half of the time. */
static uint64_t next_on_grid(struct suspend_loop *l, uint64_t grid)
{
	uint64_t period = l->tick.period_ns, next = grid + period, demand = suspend_demand_take(&l->demand);
	uint64_t busy = demand > l->busy_ns ? demand : l->busy_ns;
	uint64_t soonest = clock_monotonic_ns() + (2 * busy > period ? 2 * busy - period : 0);

	l->busy_ns = 0;
	if (next < soonest) {
		uint64_t skipped = (soonest - next + period - 1) / period;

		l->skipped += skipped;
		next += skipped * period;
	}
	return next;
}

static bool is_alive(struct suspend_loop *l)
{
	uint64_t now = clock_monotonic_ns();

	if (now - l->alive_ns < ALIVE_NS)
		return true;
	l->alive_ns = now;
	return proc_alive(l->tick.proc);
}

/* Each tick is up to an eighth of the period early or late, because a target with the same period would otherwise
 * always be seen in the same place. */
static void run_ticks(struct suspend_loop *l)
{
	uint64_t grid = clock_monotonic_ns(), period = l->tick.period_ns, due = grid;

	while (!l->stopping && is_alive(l)) {
		l->late += clock_monotonic_ns() > due + period / 2;
		do_tick(l);
		grid = next_on_grid(l, grid);
		due = grid - period / 8 + random_next(&l->random) % (period / 4 + 1);
		take_answers(l, due);
	}
}

static void finish(struct suspend_loop *l)
{
	uint64_t until = clock_monotonic_ns() + LAST_ANSWERS_NS;
	struct ptrace_stop_event e;

	while (l->tick.asked && clock_monotonic_ns() < until)
		if (suspend_alarm_wait(&l->alarm, until, true, &e))
			answer(l, &e);
	pthread_mutex_lock(&l->lock);
	suspend_tick_flush(&l->tick);
	publish(l);
	l->stats.target_ended = !proc_alive(l->tick.proc);
	pthread_mutex_unlock(&l->lock);
}

static void *loop_main(void *arg)
{
	struct suspend_loop *l = arg;

	engine_thread_raise_priority();
	ptrace_stop_begin(proc_pid(l->tick.proc));
	suspend_alarm_open(&l->alarm);
	suspend_demand_open(&l->demand);
	run_ticks(l);
	finish(l);
	suspend_demand_close(&l->demand);
	suspend_alarm_close(&l->alarm);
	l->done = true;
	tell(l->push_fd);
	return NULL;
}

/* --- Life */

int suspend_loop_new(struct proc *proc, struct sample_queue *q, struct sample_queue *requests,
		     const struct engine_options *o, struct suspend_loop **ret, struct err *err)
{
	struct suspend_loop *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return err_set(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&l->lock, NULL);
	l->random = clock_monotonic_ns();
	l->tick = (struct suspend_tick){.proc = proc,
					.out = {.queue = q, .wall = o->event && strcmp(o->event, "wall") == 0},
					.requests = {.queue = requests, .ask_first = o->ask_first},
					.frozen = o->frozen,
					.period_ns = o->period,
					.max_pause_ns = o->max_pause_ns ? o->max_pause_ns : DEFAULT_PAUSE_NS};
	l->push_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = suspend_tick_init(&l->tick, err);
	if (r == 0 && l->push_fd < 0)
		r = err_set(err, -EMFILE, "out of descriptors (ulimit -n)");
	if (r == 0 && suspend_alarm_check() < 0)
		r = err_set(err, -EAGAIN,
			    "cannot create a timer: too many signals are pending for this user "
			    "(ulimit -i)");
	/* No SIGCHLD for stops: waitid() does not need it. */
	if (r == 0)
		sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP}, NULL);
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
	if (l->started)
		suspend_alarm_ring(l->thread);
}

bool suspend_loop_done(const struct suspend_loop *l)
{
	return l->done;
}

void suspend_loop_wait(struct suspend_loop *l, uint64_t until_ns)
{
	struct pollfd fd = {.fd = l->push_fd, .events = POLLIN};
	uint64_t now = clock_monotonic_ns(), ns = until_ns > now ? until_ns - now : 0, n;
	struct timespec left = clock_timespec(ns);

	l->owner_waits = true;
	atomic_thread_fence(memory_order_seq_cst); /* visible before the queue is looked at */
	if (sample_queue_empty(l->tick.out.queue) && !l->done && ppoll(&fd, 1, until_ns ? &left : NULL, NULL) > 0)
		(void)!read(l->push_fd, &n, sizeof(n));
	l->owner_waits = false;
}

struct suspend_loop_stats suspend_loop_stats(struct suspend_loop *l)
{
	struct suspend_times pause, stop, copy, spread;
	struct suspend_loop_stats s;

	pthread_mutex_lock(&l->lock); /* only briefly: stopped threads may wait for it */
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
	if (l->push_fd >= 0)
		close(l->push_fd);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
