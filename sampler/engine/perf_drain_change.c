#include <string.h>

#include "sampler/engine/perf_attach.h"
#include "sampler/engine/perf_drain_priv.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/log.h"

enum { OWN_SIZES_MAX = 512 }; /* events */

static bool wants_threads(const struct perf_drain *d)
{
	return d->intake.wake_to == WAKE_DEEP || d->choice.by_thread;
}

/* To open thousands of events anew costs more than large copies do. */
bool drain_may_own(const struct perf_drain *d)
{
	return perf_attach_by_thread(d->attach) && perf_attach_events(d->attach) <= OWN_SIZES_MAX &&
	       !d->size_asked_for;
}

static int try_reopen(struct perf_drain *d, uint32_t stack_bytes)
{
	struct perf_attach_change change = {
		.stack_bytes = stack_bytes,
		.wake_each = d->intake.wake_to != WAKE_BATCH,
		.by_thread = wants_threads(d),
	};
	int r = perf_attach_reopen(d->attach, &change);

	/* Descriptors may not do for as many events. */
	if (r < 0 && change.by_thread && d->intake.wake_to != WAKE_DEEP) {
		d->choice = (struct event_choice){.refused = true};
		change.by_thread = false;
		r = perf_attach_reopen(d->attach, &change);
	}
	if (r == 0)
		atomic_store_explicit(&d->by_thread, change.by_thread, memory_order_relaxed);
	d->intake.may_own = drain_may_own(d);
	return r;
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
	atomic_store_explicit(&d->stack_bytes, d->intake.size.now, memory_order_relaxed);
	if (r < 0)
		log_info("sampling events stay as they are: %s", strerror(-r));
	else
		log_info("stack copy %s %u bytes, %s, events on %s", own ? "<=" : "of", size,
			 each ? "each sample read at once" : "samples read in batches",
			 perf_attach_by_thread(d->attach) ? "threads" : "CPUs");
}

/* The first few samples come from the CPUs: that is sooner. */
bool drain_wants_change(const struct perf_drain *d)
{
	return perf_intake_wants_change(&d->intake) ||
	       (d->intake.wake.mode != WAKE_FIRST && wants_threads(d) != d->by_thread &&
		perf_attach_mode(d->attach) == PERF_ATTACH_CPUS);
}
