#include "sampler/engine/suspend/suspend_loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sampler/engine/suspend/ptrace_stop.h"
#include "sampler/engine/suspend/suspend_alarm.h"
#include "sampler/engine/suspend/suspend_demand.h"
#include "sampler/engine/suspend/suspend_link.h"
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
#define PUBLISH_NS UINT64_C(20000000)
#define DEFAULT_PAUSE_NS UINT64_C(2000000)

struct suspend_loop {
	struct suspend_tick tick;
	struct suspend_link *link; /* borrowed */
	pid_t parent; /* the owner: this process ends with it */
	struct suspend_alarm alarm; /* of the thread that runs, as is the next */
	struct suspend_demand demand;
	uint64_t
		unreported_since_ns; /* since when the queue has held something that the owner has not been told of; 0: nothing */
	uint64_t alive_ns; /* when the target was last seen alive */
	uint64_t published_ns;
	uint64_t random;
	uint64_t late, skipped; /* ticks */
	uint64_t busy_ns; /* how long this thread has worked since the last tick was planned */
};

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
	suspend_link_wake_owner(l->link);
}

/* An owner that was killed has the target's threads released: the kernel does that when this process ends. */
static bool is_orphan(const struct suspend_loop *l)
{
	return getppid() != l->parent;
}

static bool is_wanted(const struct suspend_loop *l)
{
	return !l->link->shared->stopping && !is_orphan(l);
}

/* --- Answers */

static void answer(struct suspend_loop *l, const struct ptrace_stop_event *e)
{
	uint64_t began = clock_monotonic_ns(), now;
	bool gone;

	gone = suspend_tick_answer(&l->tick, e);
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

	while (is_wanted(l)) {
		bool there = suspend_alarm_wait(&l->alarm, until_ns, l->tick.asked, &e);

		if (there)
			answer(l, &e);
		if (clock_monotonic_ns() >= until_ns && (!there || !most))
			return;
		most -= most > 0;
	}
}

/* --- Ticks */

static void publish(struct suspend_loop *l, bool target_ended)
{
	struct suspend_facts f = {
		.stats = {.suspend = l->tick.stats,
			  .samples = l->tick.out.samples,
			  .lost = l->tick.out.lost,
			  .threads = l->tick.threads.n,
			  .cpu_ns = l->parent ? clock_process_cpu_ns() : 0,
			  .target_ended = target_ended},
		.pause = l->tick.pause,
		.stop = l->tick.stop,
		.copy = l->tick.copy,
		.spread = l->tick.spread,
	};

	f.stats.suspend.again = l->tick.out.again;
	f.stats.suspend.late = l->late;
	f.stats.suspend.skipped = l->skipped;
	suspend_link_publish(l->link, &f);
	l->published_ns = clock_monotonic_ns();
}

static void do_tick(struct suspend_loop *l)
{
	uint64_t began = clock_monotonic_ns();

	suspend_tick_begin(&l->tick, began);
	if (began - l->published_ns >= PUBLISH_NS)
		publish(l, false);
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

	while (is_wanted(l) && is_alive(l)) {
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

	while (l->tick.asked && clock_monotonic_ns() < until && !is_orphan(l))
		if (suspend_alarm_wait(&l->alarm, until, true, &e))
			answer(l, &e);
	suspend_tick_flush(&l->tick);
	publish(l, !proc_alive(l->tick.proc));
}

void suspend_loop_run(struct suspend_loop *l)
{
	ptrace_stop_begin(proc_pid(l->tick.proc));
	suspend_alarm_open(&l->alarm);
	suspend_demand_open(&l->demand);
	run_ticks(l);
	finish(l);
	suspend_demand_close(&l->demand);
	suspend_alarm_close(&l->alarm);
	suspend_link_end(l->link);
}

int suspend_loop_new(struct proc *proc, struct suspend_link *link, const struct engine_options *o, pid_t parent,
		     struct suspend_loop **ret, struct err *err)
{
	struct suspend_loop *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return err_set(err, -ENOMEM, "out of memory");
	l->link = link;
	l->parent = parent;
	l->random = clock_monotonic_ns();
	l->tick = (struct suspend_tick){
		.proc = proc,
		.out = {.queue = link->samples, .wall = o->event && strcmp(o->event, "wall") == 0},
		.requests = {.queue = link->requests, .ask_first = o->ask_first},
		.period_ns = o->period,
		.max_pause_ns = o->max_pause_ns ? o->max_pause_ns : DEFAULT_PAUSE_NS};
	l->tick.frozen.box = &link->shared->frozen;
	r = suspend_tick_init(&l->tick, err);
	if (r == 0 && suspend_alarm_check() < 0)
		r = err_set(err, -EAGAIN,
			    "cannot create a timer: too many signals are pending for this user "
			    "(ulimit -i)");
	if (r < 0) {
		suspend_loop_free(l);
		return r;
	}
	/* No SIGCHLD for stops: waitid() does not need it. */
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP}, NULL);
	publish(l, false);
	*ret = l;
	return 0;
}

void suspend_loop_free(struct suspend_loop *l)
{
	if (!l)
		return;
	suspend_tick_done(&l->tick);
	free(l);
}
