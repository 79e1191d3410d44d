#include <stdlib.h>
#include <string.h>

#include "sampler/engine/perf/event_set.h"
#include "sampler/engine/perf/perf_attach.h"
#include "sampler/engine/perf/perf_drain_priv.h"
#include "sampler/engine/perf/perf_follow.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/proc.h"

enum {
	OWN_SIZES_MAX = 512, /* events */
	FIRST_MAX = 256, /* events that may be opened before the first sample */
	LATE_MIN = 8, /* samples */
};
#define CALM_MAX_NS UINT64_C(160000000000)
#define REFIX_MIN_NS UINT64_C(2000000000)
#define REFIX_MAX_NS UINT64_C(64000000000)
/* A younger process may be starting: its threads are all new, and a stack's pages not there yet (stack_rest_touch()). */
#define STARTING_NS UINT64_C(3000000000)

/*
 * To begin with each sample wakes its reader, which tells on busy CPUs (PERF_ON_BOTH): not on CPUs, unless it has to be.
 */
bool drain_begins_on_threads(const struct perf_drain *d)
{
	uint64_t age;

	return !d->choice.refused && perf_attach_may_both(d->attach) &&
	       proc_thread_age_ns(d->proc, proc_pid(d->proc), &age) == 0 && age >= STARTING_NS &&
	       perf_attach_threads(d->attach) * perf_attach_n_rings(d->attach) <= FIRST_MAX;
}

/* Events on all threads, even for some milliseconds, would leave out a target of brief ones. */
void drain_look_for_new_threads(struct perf_drain *d)
{
	uint64_t age;
	pid_t *tids;
	size_t n;

	if (proc_tasks(d->proc, &tids, &n) < 0)
		return;
	for (size_t i = n; i-- > 0 && !d->intake.fork_ns;) /* the last one is most likely the newest */
		if (proc_thread_age_ns(d->proc, tids[i], &age) == 0 && age < EVENT_FIXED_NS)
			d->intake.fork_ns = clock_monotonic_ns();
	free(tids);
}

/*
 * An inherited event begins with a whole period to go, on each CPU again: threads that live for less are never
 * sampled. So as soon as threads start, only those that were there before have events of their own. The same for processes.
 */
static enum perf_attach_on wanted(const struct perf_drain *d)
{
	struct perf_follow *f = perf_attach_follow(d->attach);
	uint64_t fork_ns = d->intake.fork_ns;
	bool alone = !f || family_is_empty(&f->family);

	if (d->ended_seen || (d->intake.wake_to == WAKE_FIRST ? !d->first_on_threads :
			      d->intake.wake_to == WAKE_BATCH && !d->choice.by_thread))
		return PERF_ON_CPUS;
	if (alone && (!fork_ns || clock_monotonic_ns() - fork_ns > d->calm_ns))
		return PERF_ON_THREADS;
	return perf_attach_may_both(d->attach) ? PERF_ON_BOTH : PERF_ON_CPUS;
}

/* Each change costs samples: events on threads begin anew. */
static void note_change(struct perf_drain *d, enum perf_attach_on on)
{
	if (d->intake.fork_ns && d->on != PERF_ON_THREADS && on == PERF_ON_THREADS && d->calm_ns < CALM_MAX_NS)
		d->calm_ns *= 2;
	atomic_store_explicit(&d->on, on, memory_order_relaxed);
}

/* To open thousands of events anew costs more than large copies do. */
bool drain_may_own(const struct perf_drain *d)
{
	return perf_attach_by_thread(d->attach) && perf_attach_events(d->attach) <= OWN_SIZES_MAX &&
	       !d->size_asked_for;
}

/* In the mode THREADS; in the other, threads that are brief are left to the events on CPUs. */
static uint64_t period_wanted(const struct perf_drain *d)
{
	bool finer = perf_attach_mode(d->attach) == PERF_ATTACH_THREADS;

	return d->intake.period / (finer ? d->intake.divisor : 1);
}

static int try_reopen(struct perf_drain *d, uint32_t stack_bytes)
{
	struct perf_attach_change change = {
		.stack_bytes = stack_bytes,
		.period = period_wanted(d),
		.wake_each = d->intake.wake_to != WAKE_BATCH,
		.on = wanted(d),
	};
	uint64_t before = perf_attach_config(d->attach)->period;
	int r = perf_attach_reopen(d->attach, &change);

	/* Descriptors may not do for as many events. */
	if (r < 0 && change.on != PERF_ON_CPUS && d->intake.wake_to != WAKE_DEEP) {
		d->choice = (struct event_choice){.refused = true};
		d->first_on_threads = false;
		change.on = PERF_ON_CPUS;
		r = perf_attach_reopen(d->attach, &change);
	}
	if (r == 0) {
		note_change(d, change.on);
		if (change.period != before)
			d->intake.due_ns = d->intake.tail_ns = 0;
	}
	d->intake.may_own = drain_may_own(d);
	return r;
}

static const char *drain_on_name(enum perf_attach_on on)
{
	static const char *const names[] = {"CPUs", "threads", "threads that stay, and CPUs for all others"};

	return names[on];
}

void drain_reopen(struct perf_drain *d)
{
	uint32_t size = d->intake.resize_to ? d->intake.resize_to : d->intake.size.now;
	bool each = d->intake.wake_to != WAKE_BATCH, own = d->intake.own_changed;
	int r = try_reopen(d, size);
	uint64_t now = clock_monotonic_ns();

	if (d->intake.resize_to)
		stack_size_changed(&d->intake.size, size, r == 0, now);
	if (d->intake.wake_to != d->intake.wake.mode)
		wake_changed(&d->intake.wake, r == 0 ? d->intake.wake_to : d->intake.wake.mode, now);
	d->intake.resize_to = 0;
	d->intake.own_changed = false;
	d->intake.wake_to = d->intake.wake.mode;
	d->intake.late = 0;
	d->changed_ns = now;
	atomic_store_explicit(&d->stack_bytes, d->intake.size.now, memory_order_relaxed);
	if (r < 0)
		d->intake.divisor = (uint32_t)(d->intake.period / perf_attach_config(d->attach)->period);
	if (r < 0)
		log_info("sampling events stay as they are: %s", strerror(-r));
	else
		log_info("stack copy %s %u bytes, %s, events on %s", own ? "<=" : "of", size,
			 each ? "each sample read at once" : "samples read in batches",
			 drain_on_name(perf_attach_by_thread(d->attach) ? PERF_ON_THREADS : d->on));
}

/* Threads that were new when the events were opened may have come to stay. Less and less often: threads with deep stacks
 * may as well all be brief. */
static bool wants_refix(struct perf_drain *d)
{
	uint64_t pause = d->refix_ns ? d->refix_ns : REFIX_MIN_NS;

	if (d->on != PERF_ON_BOTH || d->intake.late < LATE_MIN || clock_monotonic_ns() - d->changed_ns < pause)
		return false;
	d->refix_ns = pause < REFIX_MAX_NS ? pause * 2 : pause;
	return true;
}

bool drain_wants_change(struct perf_drain *d)
{
	return perf_intake_wants_change(&d->intake) ||
	       period_wanted(d) != perf_attach_config(d->attach)->period ||
	       ((int)wanted(d) != d->on && perf_attach_mode(d->attach) == PERF_ATTACH_CPUS) || wants_refix(d);
}
