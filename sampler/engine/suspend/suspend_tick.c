#include "sampler/engine/suspend/suspend_tick.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "sampler/engine/suspend/ptrace_stop.h"
#include "sampler/engine/suspend/suspend_call.h"
#include "sampler/engine/suspend/suspend_look.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/target/arch.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/mem_live.h"
#include "symbolizer/target/proc.h"

enum {
	STILL = 32, /* ticks after which a sleeping thread is idle */
	REGS_STOPS = 4, /* blocked threads that may be stopped at a tick */
};
/* How often idle threads' samples are queued. */
#define IDLE_TOLD_NS UINT64_C(1000000000)
/* The owner is asked about a thread when it starts, and again when it has had time to get its name. */
#define ASK_SOON_NS UINT64_C(100000000)
/* How long the target is left alone if a debugger traces it. */
#define OTHER_TRACER_NS UINT64_C(200000000)

int suspend_tick_init(struct suspend_tick *t, struct err *err)
{
	struct proc_status st;
	int r;

	suspend_threads_init(&t->threads, t->proc);
	suspend_idle_init(&t->idle, &t->threads);
	t->stats.period_ns = t->period_ns;
	r = proc_owner(t->proc, &t->owner, &st);
	if (r < 0)
		return err_set(err, r, "cannot read the ids of process %d: %s", (int)proc_pid(t->proc), strerror(-r));
	return mem_live_open(t->proc, &t->mem, err);
}

void suspend_tick_done(struct suspend_tick *t)
{
	suspend_threads_done(&t->threads);
	mem_free(t->mem);
	t->mem = NULL;
}

/* --- Threads that come and go */

static void on_added(void *ctx, struct suspend_thread *th)
{
	struct suspend_tick *t = ctx;

	th->left = t->requests.ask_first;
	t->threads.n_left += th->left;
	th->ask_again_ns = t->tick_ns + ASK_SOON_NS;
	th->call = -1;
	th->last_ns = t->tick_ns - t->period_ns; /* the weight of its first sample is one period */
	/* What a thread used before sampling began does not count; threads that start later start at 0. */
	if (t->number <= 1 && suspend_thread_account(&t->threads, th, &th->look.account) == 0)
		th->counted_ns = th->look.account.cpu_ns;
	suspend_output_put(&t->out, &(struct suspend_msg){.kind = SUSPEND_MSG_THREAD, .tid = th->tid});
}

static void on_gone(void *ctx, struct suspend_thread *th)
{
	struct suspend_tick *t = ctx;

	if (th->at >= t->threads.n_awake)
		suspend_output_idle(&t->out, th, t->number, t->tick_ns);
	suspend_output_again(&t->out, th);
	suspend_output_put(&t->out, &(struct suspend_msg){.kind = SUSPEND_MSG_EXIT, .tid = th->tid});
}

/* --- Asking to stop */

/*
 * The first signal may have come before the call; at the second one, the call has waited for a millisecond. Then the
 * target is in execve(), which may in turn wait for threads that were already asked and have ended: those come first.
 */
static int ask_twice(struct suspend_tick *t, pid_t tid)
{
	int r = ptrace_stop_ask(tid);

	if (r == -EINTR)
		r = ptrace_stop_ask(tid);
	if (r == -EINTR)
		t->quiet_until_ns = t->tick_ns + 1; /* until the next tick */
	return r;
}

static void ask(struct suspend_tick *t, struct suspend_thread *th)
{
	int r;

	if (t->tick_ns < t->quiet_until_ns)
		return;
	suspend_output_again(&t->out, th);
	th->asked_ns = clock_monotonic_ns();
	th->asked_tick = t->number;
	r = ask_twice(t, th->tid);
	/* A thread that is ending gives EPERM as well. */
	if (r == -EPERM && suspend_thread_tracer(t->proc, th->tid)) {
		t->stats.refused++;
		t->quiet_until_ns = t->tick_ns + OTHER_TRACER_NS;
	}
	if (r < 0)
		return;
	th->tracing = true;
	t->asked++;
}

/* --- Looking without stopping */

/*
 * May a blocked thread be stopped so that its stack can be walked? Once in each place, a few threads per tick, and
 * only in a system call that the stop does not disturb.
 */
static bool may_stop_blocked(struct suspend_tick *t, struct suspend_thread *th)
{
	int fd;

	if (!th->wants_regs || t->regs_stops >= REGS_STOPS)
		return false;
	th->wants_regs = false;
	if (!suspend_call_unharmed(th->call, &th->call_regs, &fd) ||
	    (fd >= 0 && suspend_threads_is_socket(&t->threads, fd)))
		return false;
	t->regs_stops++;
	return true;
}

static enum thread_state blocked_state(const struct has_run_set *s)
{
	return suspend_call_sleeps(s->call) ? THREAD_SLEEPING : THREAD_NATIVE;
}

/* Call after a valid look, during which nothing has changed. */
static void looked(struct suspend_tick *t, struct suspend_thread *th, struct suspend_look *l,
		   struct suspend_msg_sample *m)
{
	uint64_t weight;
	bool wanted = suspend_look_judge(t, th, l, &weight, t->tick_ns);

	th->call = l->set.call;
	th->call_regs = l->set.regs;
	if (wanted && m && !m->stack_len) {
		suspend_look_check_exec(t, arch_sp(arch_host(), &l->set.regs), t->tick_ns);
	} else if (wanted && m) {
		if (l->set.call >= 0 && suspend_places_complete(&th->places, &l->set.regs, t->mem))
			th->wants_regs = false;
		suspend_look_commit(t, th, m, l, weight, t->tick_ns);
	}
	/* Otherwise it would never be stopped if it is never in the same place for long. */
	if (may_stop_blocked(t, th)) {
		th->only_regs = true;
		ask(t, th);
	}
}

/* It was blocked at `set`. If it has run meanwhile, the next tick will look at it. */
static void look_at(struct suspend_tick *t, struct suspend_thread *th, const struct has_run_set *set)
{
	struct suspend_look l = {.set = *set, .account = th->now};
	struct has_run_account after;
	struct suspend_msg_sample *m;

	suspend_output_again(&t->out, th); /* before room is reserved for the sample */
	m = suspend_look_copy(t, th, &l);
	if (suspend_thread_account(&t->threads, th, &after) < 0 || !has_run_account_equal(&th->now, &after))
		return; /* without committing the copy */
	t->stats.looks++;
	l.state = blocked_state(&l.set);
	looked(t, th, &l, m);
}

/* --- Stopped */

/* Repeats a call that would fail with EINTR only because of the stop. */
static bool mend_call(struct suspend_tick *t, struct suspend_thread *th, const struct ptrace_stop_event *e,
		      const struct ptrace_stop_regs *r, uint64_t now_ns)
{
	struct suspend_call c;

	if (r->result != -EINTR || r->set.call < 0)
		return false;
	c = suspend_call_again(r->set.call, &r->set.regs, now_ns - th->asked_ns);
	if (!c.again || e->signal || e->group || suspend_thread_signalled(&t->threads, th->tid) ||
	    ptrace_stop_rewind(th->tid, c.timeout_arg, c.timeout) < 0) {
		t->stats.interrupted++;
		return false;
	}
	t->stats.rewound++;
	t->stats.lengthened += c.longer;
	return c.timeout_arg >= 0;
}

static void note_stop(struct suspend_tick *t, const struct suspend_thread *th, uint64_t now_ns)
{
	t->stats.stops++;
	suspend_times_add(&t->stop, now_ns - th->asked_ns);
	if (th->asked_tick != t->number || now_ns - th->asked_ns > t->max_pause_ns) {
		t->stats.late_stops++;
		return;
	}
	if (!t->first_stop_ns)
		t->first_stop_ns = now_ns;
	t->last_stop_ns = now_ns;
}

/* Each tick that passed until the thread stopped is a sample as well. */
static void add_late(struct suspend_tick *t, struct suspend_thread *th, enum thread_state state, uint64_t *weight)
{
	uint64_t ticks = t->number - th->asked_tick, share;

	if (!t->out.wall || !ticks || ticks > UINT32_MAX)
		return;
	share = *weight / (ticks + 1) * ticks;
	th->again = (uint32_t)ticks;
	th->again_state = state;
	th->again_ns = share;
	th->again_since_ns = t->tick_ns;
	*weight -= share;
}

static void sample_stopped(struct suspend_tick *t, struct suspend_thread *th, const struct suspend_look *l,
			   struct suspend_msg_sample *m, uint64_t now_ns)
{
	uint64_t weight;

	if (!suspend_look_judge(t, th, l, &weight, now_ns) || !m)
		return;
	if (!m->stack_len) {
		suspend_look_check_exec(t, arch_sp(arch_host(), &l->set.regs), now_ns);
		return;
	}
	add_late(t, th, l->state, &weight);
	suspend_look_commit(t, th, m, l, weight, now_ns);
}

/* False: the thread could not be resumed. */
static bool on_stop(struct suspend_tick *t, struct suspend_thread *th, const struct ptrace_stop_event *e)
{
	uint64_t now_ns = clock_monotonic_ns(), done_ns;
	struct ptrace_stop_regs r = {0};
	struct suspend_msg_sample *m = NULL;
	struct suspend_look l = {.stopped = true};
	bool ok, gone, changed = false, only_regs = th->only_regs;

	th->only_regs = false;
	note_stop(t, th, now_ns);
	ok = ptrace_stop_regs(e->tid, &r) == 0 && suspend_thread_account(&t->threads, th, &l.account) == 0;
	if (ok) {
		l.set = r.set;
		l.thread_block = r.thread_block;
		l.until_ns = now_ns + t->max_pause_ns;
		m = only_regs ? NULL : suspend_look_copy(t, th, &l);
		if (l.set.call >= 0 && (only_regs || th->asleep))
			suspend_places_keep(&th->places, &l.set.regs, t->mem);
		suspend_times_add(&t->copy, clock_monotonic_ns() - now_ns);
		changed = mend_call(t, th, e, &r, now_ns);
	}
	gone = ptrace_stop_release(e->tid, e->signal) == 0;
	done_ns = clock_monotonic_ns();
	suspend_times_add(&t->pause, done_ns - now_ns);
	if (!ok)
		return gone;
	if (only_regs) { /* the look before has already sampled it */
		th->look.disturbed = true;
		return gone;
	}
	l.state = l.set.call >= 0 ? blocked_state(&l.set) : suspend_look_state(th, &th->look.account, &l.account);
	sample_stopped(t, th, &l, m, now_ns);
	if (changed)
		th->looked = false; /* the call has other arguments now */
	return gone;
}

static bool take_answer(struct suspend_tick *t, struct suspend_thread *th, const struct ptrace_stop_event *e)
{
	th->tracing = false;
	t->asked--;
	if (e->ended)
		return true;
	return th->unreleased ? ptrace_stop_release(e->tid, e->signal) == 0 : on_stop(t, th, e);
}

bool suspend_tick_answer(struct suspend_tick *t, const struct ptrace_stop_event *e)
{
	struct suspend_thread *th = suspend_threads_find(&t->threads, e->tid);
	bool gone = true;

	if (th && th->tracing)
		gone = take_answer(t, th, e);
	else if (!e->ended)
		gone = ptrace_stop_release(e->tid, e->signal) == 0;
	if (th && e->ended) {
		on_gone(t, th);
		suspend_threads_drop(&t->threads, th);
	} else if (th) {
		/* Usually it was killed while stopped, and execve(2) or exit_group(2) may wait for its end to be
		 * taken. */
		th->unreleased = th->tracing = !gone;
		t->asked += !gone;
	}
	return gone;
}

/* --- A thread */

static void on_woken(void *ctx, struct suspend_thread *th)
{
	struct suspend_tick *t = ctx;

	suspend_output_idle(&t->out, th, t->number - 1, t->before_ns);
}

static void on_unchanged(struct suspend_tick *t, struct suspend_thread *th)
{
	if (th->asleep && may_stop_blocked(t, th)) {
		th->look.disturbed = true; /* the cost of the stop is not its own running */
		ask(t, th);
		return;
	}
	suspend_output_still(&t->out, th, th->asleep ? th->state : THREAD_RUNNABLE, t->tick_ns);
	if (!th->asleep || th->wants_regs || ++th->still <= STILL)
		return;
	th->reported_tick = t->number;
	suspend_idle_add(&t->idle, &t->threads, th);
}

/* Usually the account shows that there is nothing to do. */
static void observe(struct suspend_tick *t, struct suspend_thread *th)
{
	struct has_run_set set;
	int r;

	if (!th->read)
		return;
	if (th->now.slices && th->off_cpu && has_run_account_equal(&th->now, &th->look.account)) {
		on_unchanged(t, th);
		return;
	}
	th->still = 0;
	r = suspend_thread_position(&t->threads, th, &set);
	if (r == -EAGAIN) {
		ask(t, th);
		return;
	}
	switch (suspend_thread_state(&t->threads, th->tid)) {
	case 'R': /* runs by now, or the kernel does not show where threads are */
		if (r < 0)
			ask(t, th);
		break;
	case 't': /* stopped by another tracer */ t->stats.refused++; break;
	case 'S':
	case 'D':
	case 'T':
		if (r == 0)
			look_at(t, th, &set);
		break;
	default: /* ends */ break;
	}
}

/*
 * A traced thread that will no longer answer: it has ended, and another thread has waited for it; or it was the
 * first, and another thread, which has called execve(), now has its ID.
 */
static void forget_lost(struct suspend_tick *t, struct suspend_thread *th)
{
	char state = suspend_thread_state(&t->threads, th->tid);

	if (state && state != 'Z' && state != 'X' && suspend_thread_tracer(t->proc, th->tid))
		return;
	th->tracing = th->unreleased = false;
	t->asked--;
}

/* --- A tick */

static void report_idle(struct suspend_tick *t)
{
	for (size_t i = t->threads.n_awake; i < t->threads.n; i++)
		suspend_output_idle(&t->out, t->threads.all[i], t->number, t->tick_ns);
	t->idle_reported_ns = t->tick_ns;
}

void suspend_tick_begin(struct suspend_tick *t, uint64_t now_ns)
{
	if (t->first_stop_ns && t->last_stop_ns > t->first_stop_ns)
		suspend_times_add(&t->spread, t->last_stop_ns - t->first_stop_ns);
	t->before_ns = t->tick_ns;
	t->tick_ns = now_ns;
	t->number++;
	t->stats.ticks++;
	t->first_stop_ns = t->last_stop_ns = 0;
	t->regs_stops = 0;
	suspend_threads_refresh(&t->threads, now_ns, on_added, on_gone, t);
	suspend_requests_apply(t);
	suspend_requests_poll_owner(t);
	suspend_idle_find(&t->idle, &t->threads, on_woken, t);
	/* Backwards, because the place of a thread that becomes idle is taken by one that has been looked at. */
	for (size_t i = t->threads.n_awake; i-- > 0;) {
		struct suspend_thread *th = t->threads.all[i];

		if (!th->tracing)
			observe(t, th);
		else if (t->number % 16 == 0)
			forget_lost(t, th);
	}
	if (t->out.wall && now_ns - t->idle_reported_ns >= IDLE_TOLD_NS)
		report_idle(t);
}

void suspend_tick_flush(struct suspend_tick *t)
{
	report_idle(t);
	for (size_t i = 0; i < t->threads.n; i++)
		suspend_output_again(&t->out, t->threads.all[i]);
}
