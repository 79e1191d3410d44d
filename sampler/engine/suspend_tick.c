#include "sampler/engine/suspend_tick.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "sampler/engine/ptrace_stop.h"
#include "sampler/engine/sample_queue.h"
#include "sampler/engine/suspend_call.h"
#include "sampler/engine/suspend_msg.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/target/arch.h"
#include "symbolizer/target/mem.h"
#include "symbolizer/target/mem_live.h"
#include "symbolizer/target/proc.h"

enum {
	COPY = 64 << 10, /* of a stack whose end is not known */
	COPY_MAX = 1 << 20,
	STILL = 64, /* ticks */
	STILL_SHARE = 4,
	BLOCK = 64, /* of the thread's control block: so much shows where the stack ends */
};
/* A thread's repeated samples are told that often. */
#define AGAIN_NS UINT64_C(1000000000)
/* While a debugger has threads of the target, it is left alone for so long. */
#define OTHER_TRACER_NS UINT64_C(200000000)
#define EXEC_CHECK_NS UINT64_C(10000000)

int suspend_tick_init(struct suspend_tick *t, struct err *err)
{
	suspend_threads_init(&t->threads, t->proc);
	t->stats.period_ns = t->period_ns;
	return mem_live_open(t->proc, &t->mem, err);
}

void suspend_tick_done(struct suspend_tick *t)
{
	suspend_threads_done(&t->threads);
	mem_free(t->mem);
	t->mem = NULL;
}

/* --- Messages */

static void push(struct suspend_tick *t, const struct suspend_msg *m)
{
	void *at = sample_queue_reserve(t->queue, sizeof(*m));

	if (!at) {
		t->lost += m->count;
		return;
	}
	memcpy(at, m, sizeof(*m));
	sample_queue_commit(t->queue, sizeof(*m));
	t->pushed = true;
}

static void flush_again(struct suspend_tick *t, struct suspend_thread *th)
{
	if (!th->again)
		return;
	push(t, &(struct suspend_msg){.kind = SUSPEND_MSG_AGAIN,
				      .tid = th->tid,
				      .state = th->again_state,
				      .count = th->again,
				      .weight = th->again_ns});
	t->samples += th->again;
	th->again = 0;
	th->again_ns = 0;
}

/* Wall-clock time since the thread's last sample, of which it is told once. */
static uint64_t take_elapsed(struct suspend_thread *th, uint64_t now_ns)
{
	uint64_t ns = now_ns > th->last_ns ? now_ns - th->last_ns : 0;

	if (ns)
		th->last_ns = now_ns;
	return ns;
}

static void add_again(struct suspend_tick *t, struct suspend_thread *th, enum thread_state state)
{
	if (!t->wall || !th->sampled)
		return;
	if (th->again && (th->again_state != state || t->tick_ns - th->again_since_ns >= AGAIN_NS))
		flush_again(t, th);
	if (!th->again)
		th->again_since_ns = t->tick_ns;
	th->again_state = state;
	th->again++;
	th->again_ns += take_elapsed(th, t->tick_ns);
	t->stats.again++;
}

/* --- Threads that come and go */

static void on_added(void *ctx, struct suspend_thread *th)
{
	struct suspend_tick *t = ctx;

	th->last_ns = t->tick_ns - t->period_ns; /* its first sample stands for one period */
	/* What a thread used before the start is not counted; one that came later began with nothing. */
	if (t->number <= 1 && suspend_thread_account(&t->threads, th, &th->look.account) == 0)
		th->counted_ns = th->look.account.cpu_ns;
	push(t, &(struct suspend_msg){.kind = SUSPEND_MSG_THREAD, .tid = th->tid});
}

static void on_gone(void *ctx, struct suspend_thread *th)
{
	struct suspend_tick *t = ctx;

	flush_again(t, th);
	push(t, &(struct suspend_msg){.kind = SUSPEND_MSG_EXIT, .tid = th->tid});
}

/* --- One sample */

struct look {
	struct has_run_set set;
	struct has_run_account account;
	uint64_t thread_block;
	enum thread_state state;
	bool stopped;
};

static size_t stack_size(const struct look *l)
{
	uint64_t sp = arch_sp(arch_host(), &l->set.regs);

	/* glibc puts the control block at the end of the stack; the first thread's is elsewhere. */
	if (l->thread_block > sp && l->thread_block - sp < COPY_MAX)
		return (size_t)(l->thread_block - sp) + BLOCK;
	return l->thread_block > sp && l->thread_block - sp < 64 * (uint64_t)COPY_MAX ? COPY_MAX : COPY;
}

/* Room in the queue with the stack, and what else belongs to it, uncommitted. NULL: no room, or nothing to read. */
static struct suspend_msg_sample *copy_stack(struct suspend_tick *t, const struct suspend_thread *th,
					     const struct look *l)
{
	bool aside = engine_aside_wants(&t->aside, th->tid);
	uint64_t sp = arch_sp(arch_host(), &l->set.regs);
	size_t size = stack_size(l), n;
	struct suspend_msg_sample *m = sample_queue_reserve(
		t->queue, sizeof(*m) + size + (aside ? ENGINE_ASIDE_MAX : 0));

	if (!m) {
		t->lost++;
		return NULL;
	}
	mem_new_sample(t->mem);
	n = mem_read_some(t->mem, sp, m + 1, size);
	*m = (struct suspend_msg_sample){
		.head = {.kind = SUSPEND_MSG_SAMPLE},
		.stack_addr = sp,
		.stack_len = n,
		.stack_cut = n == size,
	};
	if (aside)
		m->frozen_len =
			t->aside.take(t->aside.ctx, th->tid, (uint8_t *)(m + 1) + n, ENGINE_ASIDE_MAX);
	return m;
}

static void commit_sample(struct suspend_tick *t, struct suspend_thread *th, struct suspend_msg_sample *m,
			  const struct look *l, uint64_t weight, uint64_t now_ns)
{
	m->head.tid = th->tid;
	m->head.state = l->state;
	m->head.count = 1;
	m->head.weight = weight;
	m->time_ns = now_ns;
	m->regs = l->set.regs;
	sample_queue_commit(t->queue, sizeof(*m) + m->stack_len + m->frozen_len);
	t->samples++;
	t->pushed = true;
	th->sampled = true;
	th->state = l->state;
}

/*
 * All memory of the old image is gone at once with an execve(); what a new one reads at the same place
 * tells it from a thread that has just lost its stack.
 */
static void check_exec(struct suspend_tick *t, uint64_t sp, uint64_t now_ns)
{
	struct mem *fresh;
	uint64_t word;

	if (now_ns - t->exec_checked_ns < EXEC_CHECK_NS)
		return;
	t->exec_checked_ns = now_ns;
	if (mem_live_open(t->proc, &fresh, NULL) < 0)
		return;
	if (!mem_read_u64(fresh, sp & ~UINT64_C(7), &word)) {
		mem_free(fresh);
		return;
	}
	mem_free(t->mem);
	t->mem = fresh;
	push(t, &(struct suspend_msg){.kind = SUSPEND_MSG_EXEC});
}

/*
 * A thread that had a CPU part of the time was found running as often as that: HotSpot and the kernel
 * do not tell which it was at this moment (being stopped, it is neither).
 */
static enum thread_state suspend_label(struct suspend_thread *th, const struct has_run_account *before,
				       const struct has_run_account *now)
{
	uint64_t run = now->cpu_ns - before->cpu_ns, wait = now->wait_ns - before->wait_ns;

	if (!now->slices || run + wait == 0 || now->cpu_ns < before->cpu_ns)
		return THREAD_RUNNING;
	th->share += (double)run / (double)(run + wait);
	if (th->share < 0.5)
		return THREAD_RUNNABLE;
	th->share -= 1;
	return THREAD_RUNNING;
}

/* What the look says of the thread; true: this look is a sample. */
static bool judge(struct suspend_tick *t, struct suspend_thread *th, const struct look *l,
		  uint64_t *ret_weight, uint64_t now_ns)
{
	const struct has_run_look now = {has_run_host()->checksum(&l->set), l->account, l->stopped};
	uint64_t used = l->account.cpu_ns > th->counted_ns ? l->account.cpu_ns - th->counted_ns : 0;
	enum has_run_verdict v = used || !l->account.slices ? HAS_RUN_REGISTERS : HAS_NOT_RUN;

	if (th->looked)
		v = has_run_judge(&th->look, &now);
	t->stats.by_registers += v == HAS_RUN_REGISTERS;
	t->stats.by_account += v == HAS_RUN_ACCOUNT;
	th->look = now;
	th->looked = th->off_cpu = true;
	th->asleep = !l->stopped;
	th->counted_ns = l->account.cpu_ns;
	if (t->wall) {
		*ret_weight = take_elapsed(th, now_ns);
		return true;
	}
	*ret_weight = l->account.slices ? used : take_elapsed(th, now_ns);
	return v != HAS_NOT_RUN;
}

/* --- Looking without stopping */

static enum thread_state blocked_state(const struct has_run_set *s)
{
	return suspend_call_sleeps(s->call) ? THREAD_SLEEPING : THREAD_NATIVE;
}

/* False: it ran meanwhile. */
static bool look_at(struct suspend_tick *t, struct suspend_thread *th, const struct has_run_account *a)
{
	struct look l = {.account = *a};
	struct has_run_account after;
	struct suspend_msg_sample *m;
	uint64_t weight;

	if (suspend_thread_position(&t->threads, th->tid, &l.set) < 0)
		return false;
	flush_again(t, th); /* before there is room reserved for the sample */
	m = copy_stack(t, th, &l);
	if (suspend_thread_account(&t->threads, th, &after) < 0 || !has_run_account_equal(a, &after))
		return false; /* what was copied is not committed */
	t->stats.looks++;
	l.state = blocked_state(&l.set);
	if (!m || !judge(t, th, &l, &weight, t->tick_ns))
		return true;
	if (!m->stack_len)
		check_exec(t, arch_sp(arch_host(), &l.set.regs), t->tick_ns);
	else
		commit_sample(t, th, m, &l, weight, t->tick_ns);
	return true;
}

/* --- Stopping */

static void ask(struct suspend_tick *t, struct suspend_thread *th)
{
	int r;

	if (t->tick_ns < t->quiet_until_ns)
		return;
	flush_again(t, th);
	th->asked_ns = clock_monotonic_ns();
	th->asked_tick = t->number;
	r = ptrace_stop_ask(th->tid);
	/* EPERM is also the answer for a thread that is ending. */
	if (r == -EPERM && suspend_thread_tracer(t->proc, th->tid)) {
		t->stats.refused++;
		t->quiet_until_ns = t->tick_ns + OTHER_TRACER_NS;
	}
	if (r < 0)
		return;
	th->tracing = true;
	t->asked++;
}

/* In place of an EINTR that is only because of the stop, the call is made again. */
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

/* Of the ticks that went by until it stopped each is a sample too. */
static void add_late(struct suspend_tick *t, struct suspend_thread *th, enum thread_state state,
		     uint64_t *weight)
{
	uint64_t ticks = t->number - th->asked_tick, share;

	if (!t->wall || !ticks || ticks > UINT32_MAX)
		return;
	share = *weight / (ticks + 1) * ticks;
	th->again = (uint32_t)ticks;
	th->again_state = state;
	th->again_ns = share;
	th->again_since_ns = t->tick_ns;
	*weight -= share;
}

static void sample_stopped(struct suspend_tick *t, struct suspend_thread *th, const struct look *l,
			   struct suspend_msg_sample *m, uint64_t now_ns)
{
	uint64_t weight;

	if (!judge(t, th, l, &weight, now_ns) || !m)
		return;
	if (!m->stack_len) {
		check_exec(t, arch_sp(arch_host(), &l->set.regs), now_ns);
		return;
	}
	add_late(t, th, l->state, &weight);
	commit_sample(t, th, m, l, weight, now_ns);
}

static void on_stop(struct suspend_tick *t, struct suspend_thread *th, const struct ptrace_stop_event *e)
{
	uint64_t now_ns = clock_monotonic_ns(), done_ns;
	struct ptrace_stop_regs r = {0};
	struct suspend_msg_sample *m = NULL;
	struct look l = {.stopped = true};
	bool ok, changed = false;

	note_stop(t, th, now_ns);
	ok = ptrace_stop_regs(e->tid, &r) == 0 && suspend_thread_account(&t->threads, th, &l.account) == 0;
	if (ok) {
		l.set = r.set;
		l.thread_block = r.thread_block;
		m = copy_stack(t, th, &l);
		suspend_times_add(&t->copy, clock_monotonic_ns() - now_ns);
		changed = mend_call(t, th, e, &r, now_ns);
	}
	ptrace_stop_release(e->tid, e->signal);
	done_ns = clock_monotonic_ns();
	suspend_times_add(&t->pause, done_ns - now_ns);
	if (!ok)
		return;
	l.state = l.set.call >= 0 ? blocked_state(&l.set)
				  : suspend_label(th, &th->look.account, &l.account);
	sample_stopped(t, th, &l, m, now_ns);
	if (changed)
		th->looked = false; /* its arguments are other ones now */
}

bool suspend_tick_answers(struct suspend_tick *t)
{
	struct ptrace_stop_event e;
	size_t most = 2 * t->threads.n + STILL; /* one that cannot be let go now answers again */

	while (most-- && ptrace_stop_next(&e)) {
		struct suspend_thread *th = suspend_threads_find(&t->threads, e.tid);

		if (th && th->tracing) {
			th->tracing = false;
			t->asked--;
			if (!e.ended)
				on_stop(t, th, &e);
		} else if (!e.ended) {
			ptrace_stop_release(e.tid, e.signal);
		}
		if (th && e.ended) {
			on_gone(t, th);
			suspend_threads_drop(&t->threads, th);
		}
	}
	return t->asked > 0;
}

/* --- A tick */

/*
 * Reading an account is what a thread that does nothing costs: of those that have been asleep for a while a
 * quarter is read at a tick. One that wakes is met up to 3 ticks later, with all the time it used.
 */
static bool may_wait(const struct suspend_tick *t, const struct suspend_thread *th)
{
	return th->asleep && th->still > STILL && (t->number + (unsigned)th->tid) % STILL_SHARE != 0;
}

/* Reading the account of a thread tells most of the time that nothing need be done. */
static void observe(struct suspend_tick *t, struct suspend_thread *th)
{
	struct has_run_account a;
	bool waits = may_wait(t, th);
	char state;

	if (!waits && suspend_thread_account(&t->threads, th, &a) < 0)
		return;
	if (waits || (a.slices && th->off_cpu && has_run_account_equal(&a, &th->look.account))) {
		th->still++;
		add_again(t, th, th->asleep ? th->state : THREAD_RUNNABLE);
		return;
	}
	th->still = 0;
	state = suspend_thread_state(&t->threads, th->tid);
	switch (state) {
	case 'R':
		ask(t, th);
		break;
	case 't': /* stopped by another tracer */
		t->stats.refused++;
		break;
	case 'S':
	case 'D':
	case 'T':
		/* "running" again, or ran while it was looked at: it is due at the next tick. */
		look_at(t, th, &a);
		break;
	default: /* ends */
		break;
	}
}

/* A traced thread of which nothing is heard any more (ended, and another thread took note of it). */
static void forget_lost(struct suspend_tick *t, struct suspend_thread *th)
{
	char state = suspend_thread_state(&t->threads, th->tid);

	if (state && state != 'Z' && state != 'X')
		return;
	th->tracing = false;
	t->asked--;
}

void suspend_tick_begin(struct suspend_tick *t, uint64_t now_ns)
{
	struct suspend_thread *th, *next;

	if (t->first_stop_ns && t->last_stop_ns > t->first_stop_ns)
		suspend_times_add(&t->spread, t->last_stop_ns - t->first_stop_ns);
	t->tick_ns = now_ns;
	t->number++;
	t->stats.ticks++;
	t->first_stop_ns = t->last_stop_ns = 0;
	suspend_threads_refresh(&t->threads, now_ns, on_added, on_gone, t);
	HASH_ITER(hh, t->threads.by_tid, th, next) {
		if (!th->tracing)
			observe(t, th);
		else if (t->number % 16 == 0)
			forget_lost(t, th);
	}
}

void suspend_tick_flush(struct suspend_tick *t)
{
	struct suspend_thread *th, *next;

	HASH_ITER(hh, t->threads.by_tid, th, next)
		flush_again(t, th);
}
