#include "sampler/engine/perf/perf_policy.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/engine/engine.h"
#include "sampler/engine/perf/events/event_set.h"
#include "sampler/engine/perf/events/perf_attach.h"
#include "sampler/engine/perf/events/perf_follow.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/proc.h"

enum {
	OWN_SIZES_MAX = 512, /* events */
	FIRST_MAX = 256, /* events that may be opened before the first sample */
	LATE_MIN = 8, /* samples */
	IDLE_SAMPLES = 4, /* fewer within IDLE_NS: it hardly runs */
};
#define IDLE_NS UINT64_C(1000000000)
#define CALM_NS UINT64_C(10000000000) /* without a new thread, at first */
#define CALM_MAX_NS UINT64_C(160000000000)
#define REFIX_MIN_NS UINT64_C(2000000000)
#define REFIX_MAX_NS UINT64_C(64000000000)
/* A younger process may be starting: all threads are new, and stacks' pages not present yet (stack_rest_touch()). */
#define STARTING_NS UINT64_C(3000000000)

/* --- To begin with */

/* Reopening thousands of events costs more than large copies do. */
static bool may_own(const struct perf_policy *p)
{
	return perf_attach_by_thread(p->attach) && perf_attach_events(p->attach) <= OWN_SIZES_MAX && !p->size_asked_for;
}

void perf_policy_init(struct perf_policy *p, struct proc *proc, struct perf_attach *attach,
		      const struct engine_options *o)
{
	const struct perf_config *c = perf_attach_config(attach);

	*p = (struct perf_policy){
		.proc = proc,
		.attach = attach,
		.clock = c->event.clock,
		.period = c->period,
		.size_asked_for = o->stack_bytes != 0,
		.wake.starting = o->starting,
		.choice.refused = !perf_attach_can_choose(attach) || !c->event.clock,
		.calm_ns = CALM_NS,
		.divisor = 1,
		.on = PERF_ON_CPUS,
	};
	stack_size_init(&p->size, o->stack_bytes, (uint32_t)(perf_attach_ring_size(attach) / 8));
	p->stack_bytes = p->size.now = c->stack_bytes;
	p->may_own = may_own(p);
	perf_attach_set_stacks(attach, &p->own);
}

static bool is_settled(const struct perf_policy *p)
{
	uint64_t age;

	return proc_thread_age_ns(p->proc, proc_pid(p->proc), &age) == 0 && age >= STARTING_NS;
}

/* Events on all threads, even for a few milliseconds, would miss a target whose threads are all short-lived. */
static void look_for_new_threads(struct perf_policy *p)
{
	uint64_t age;
	pid_t *tids;
	size_t n;

	if (proc_tasks(p->proc, &tids, &n) < 0)
		return;
	for (size_t i = n; i-- > 0 && !p->fork_ns;) /* the last one is usually the newest */
		if (proc_thread_age_ns(p->proc, tids[i], &age) == 0 && age < EVENT_FIXED_NS)
			perf_policy_note_start(p);
	free(tids);
}

/*
 * At first each sample wakes its reader, which distorts the measurement on busy CPUs (PERF_ON_BOTH). So events do not
 * start on CPUs if they can be on threads.
 */
void perf_policy_begin(struct perf_policy *p)
{
	p->wake.settled = is_settled(p);
	p->first_on_threads = p->wake.settled && !p->choice.refused && perf_attach_can_use_both(p->attach) &&
			      perf_attach_threads(p->attach) * perf_attach_ring_count(p->attach) <= FIRST_MAX;
	if (p->first_on_threads)
		look_for_new_threads(p);
	p->recent_ns = clock_monotonic_ns();
	perf_policy_adapt(p, false);
}

/* --- What is wanted */

/*
 * An inherited event begins with a whole period to go, on each CPU again: threads with shorter lives are never
 * sampled. So once threads start, only those that existed before have events of their own. The same applies to
 * processes.
 */
static enum perf_attach_on on_wanted(const struct perf_policy *p)
{
	struct perf_follow *f = perf_attach_follow(p->attach);
	bool alone = !f || family_is_empty(&f->family);

	if (p->target_ended ||
	    (p->wake_to == WAKE_FIRST ? !p->first_on_threads : p->wake_to == WAKE_BATCH && !p->choice.by_thread))
		return PERF_ON_CPUS;
	if (alone && (!p->fork_ns || clock_monotonic_ns() - p->fork_ns > p->calm_ns))
		return PERF_ON_THREADS;
	return perf_attach_can_use_both(p->attach) ? PERF_ON_BOTH : PERF_ON_CPUS;
}

/* For mode THREADS; in mode CPUS, short-lived threads are left to the events on CPUs. */
static uint64_t period_wanted(const struct perf_policy *p)
{
	bool finer = perf_attach_mode(p->attach) == PERF_ATTACH_THREADS;

	return p->period / (finer ? p->divisor : 1);
}

/* Threads that were new when the events were opened may have come to stay. Asked less and less often: threads with
 * deep stacks may also all be short-lived. */
static bool wants_new_choice(struct perf_policy *p)
{
	uint64_t pause = p->new_choice_ns ? p->new_choice_ns : REFIX_MIN_NS;

	if (p->on != PERF_ON_BOTH || p->late < LATE_MIN || clock_monotonic_ns() - p->changed_ns < pause)
		return false;
	p->new_choice_ns = pause < REFIX_MAX_NS ? pause * 2 : pause;
	return true;
}

/*
 * Until a target has had some samples, each of them is to wake its reader. One that hardly runs would keep timers of its
 * own for that as long as it is sampled.
 */
static void look_whether_idle(struct perf_policy *p)
{
	uint64_t now = clock_monotonic_ns();

	if (p->recent >= IDLE_SAMPLES)
		p->hardly_runs = false;
	if (now - p->recent_ns >= IDLE_NS) {
		p->hardly_runs = p->recent < IDLE_SAMPLES;
		p->recent = 0;
		p->recent_ns = now;
	}
	p->idle =
		p->hardly_runs && perf_attach_can_share(p->attach) && p->wake_to == WAKE_FIRST && !p->first_on_threads;
}

static bool wakes_each(const struct perf_policy *p)
{
	return p->wake_to != WAKE_BATCH && !p->idle;
}

static bool wants_change(struct perf_policy *p)
{
	return p->resize_to || p->idle != p->idle_now || p->own_changed || p->wake_to != p->wake.mode ||
	       period_wanted(p) != perf_attach_config(p->attach)->period ||
	       ((int)on_wanted(p) != p->on && perf_attach_mode(p->attach) == PERF_ATTACH_CPUS) || wants_new_choice(p);
}

void perf_policy_poll(struct perf_policy *p)
{
	event_choice_poll(&p->choice, p->proc, perf_attach_ring_count(p->attach), clock_monotonic_ns());
}

/* --- Changes */

/* Each change costs samples: events on threads start anew. */
static void note_change(struct perf_policy *p, enum perf_attach_on on)
{
	if (p->fork_ns && p->on != PERF_ON_THREADS && on == PERF_ON_THREADS && p->calm_ns < CALM_MAX_NS)
		p->calm_ns *= 2;
	atomic_store_explicit(&p->on, on, memory_order_relaxed);
	atomic_store_explicit(&p->shares, perf_attach_shares(p->attach), memory_order_relaxed);
}

static int try_reopen(struct perf_policy *p, uint32_t stack_bytes)
{
	struct perf_attach_change change = {
		.stack_bytes = stack_bytes,
		.period = period_wanted(p),
		.wake_each = wakes_each(p),
		.on = on_wanted(p),
	};
	uint64_t before = perf_attach_config(p->attach)->period;
	int r = perf_attach_reopen(p->attach, &change);

	/* There may not be enough descriptors for that many events. */
	if (r < 0 && change.on != PERF_ON_CPUS && p->wake_to != WAKE_DEEP) {
		p->choice = (struct event_choice){.refused = true};
		p->first_on_threads = false;
		change.on = PERF_ON_CPUS;
		r = perf_attach_reopen(p->attach, &change);
	}
	if (r == 0) {
		note_change(p, change.on);
		if (change.period != before)
			p->due_ns = p->tail_ns = 0;
	}
	p->may_own = may_own(p);
	return r;
}

static void reopen(struct perf_policy *p)
{
	uint32_t size = p->resize_to ? p->resize_to : p->size.now;
	static const char *const on_names[] = {"CPUs", "threads", "threads that stay, and CPUs for all others"};
	bool each = wakes_each(p), own = p->own_changed;
	int r = try_reopen(p, size);
	uint64_t now = clock_monotonic_ns();
	char who[32] = "";

	if (p->resize_to)
		stack_size_changed(&p->size, size, r == 0, now);
	if (p->wake_to != p->wake.mode)
		wake_changed(&p->wake, r == 0 ? p->wake_to : p->wake.mode, now);
	p->resize_to = 0;
	p->own_changed = false;
	p->wake_to = p->wake.mode;
	p->idle_now = p->idle;
	p->late = 0;
	p->changed_ns = now;
	atomic_store_explicit(&p->stack_bytes, p->size.now, memory_order_relaxed);
	if (r < 0) {
		p->divisor = (uint32_t)(p->period / perf_attach_config(p->attach)->period);
		log_info("sampling events stay as they are: %s", strerror(-r));
	} else {
		if (perf_attach_can_share(p->attach)) /* one of several targets */
			snprintf(who, sizeof(who), "PID %d: ", (int)proc_pid(p->proc));
		log_info("%sstack copy %s %u bytes, %s, events on %s%s", who, own ? "<=" : "of", size,
			 each ? "each sample read at once" : "samples read in batches",
			 on_names[perf_attach_by_thread(p->attach) ? PERF_ON_THREADS : p->on],
			 p->shares ? " (one set for all targets)" : "");
	}
}

bool perf_policy_adapt(struct perf_policy *p, bool target_ended)
{
	bool change;

	p->target_ended = target_ended;
	look_whether_idle(p);
	change = wants_change(p);
	if (change)
		reopen(p);
	return change;
}

/* --- What the intake reports */

void perf_policy_note_sample(struct perf_policy *p, pid_t tid, uint64_t period)
{
	p->due_ns += period;
	p->recent++;
	perf_tails_sample(&p->tails, tid);
}

void perf_policy_note_stack(struct perf_policy *p, const struct stack_use *u, uint64_t beyond, bool at_once,
			    uint64_t now_ns)
{
	bool own = thread_stacks_is_own(u, p->size.now), cut = beyond > 0 && !own;
	uint32_t resize;

	if (p->may_own && thread_stacks_note(&p->own, u, p->size.now, now_ns))
		p->own_changed = true;
	/* If a thread's own size cut the stack, that size is changed, and not the common one. */
	resize = stack_size_note(&p->size, u->used + (own ? beyond : 0), cut, now_ns);
	if (resize)
		p->resize_to = resize;
	if (u->hole)
		wake_hole(&p->wake, now_ns);
	p->wake_to = wake_note(&p->wake, cut || at_once, now_ns);
}

void perf_policy_note_late(struct perf_policy *p)
{
	p->late++;
}

void perf_policy_note_start(struct perf_policy *p)
{
	p->fork_ns = clock_monotonic_ns();
}

void perf_policy_note_tail(struct perf_policy *p, pid_t tid, uint64_t tail)
{
	uint32_t k;

	p->tail_ns += perf_tails_ended(&p->tails, tid, tail, clock_monotonic_ns());
	if (!p->clock)
		return;
	k = perf_thin_divisor(p->period, p->divisor, p->tail_ns, p->tail_ns + p->due_ns);
	p->divisor = p->divisor_most && k > p->divisor_most ? p->divisor_most : k;
}

void perf_policy_forget(struct perf_policy *p, pid_t tid)
{
	thread_stacks_forget(&p->own, tid);
}

/* Neither samples that would be thinned out anyway nor bytes that no stack needs must displace others. */
void perf_policy_note_lost(struct perf_policy *p)
{
	uint32_t resize = stack_size_lost(&p->size);

	if (resize)
		p->resize_to = resize;
	if (p->divisor > 1)
		p->divisor = p->divisor_most = p->divisor / 2;
}
