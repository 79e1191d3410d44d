/* Events on CPUs that several targets share, instead of those of one. */
#include <string.h>

#include "sampler/engine/perf/events/perf_attach_priv.h"
#include "symbolizer/base/log.h"
#include "symbolizer/target/proc.h"

/* Processes that the target starts are let into the filter at once, and only into its own. */
void attach_share_open(struct perf_attach *a)
{
	int r;

	if (!a->config.shared || !a->automatic || a->config.follow || !a->config.event.clock)
		return;
	r = shared_member_new(a->config.shared, proc_pid(a->proc), &a->config, a->cpus, a->n_cpus, &a->member);
	if (r < 0)
		log_info("process %d has events of its own: %s", (int)proc_pid(a->proc), strerror(-r));
}

bool attach_share_may(const struct perf_attach *a, const struct perf_attach_change *c, enum perf_attach_on on)
{
	return a->member && on != PERF_ON_THREADS && (on == PERF_ON_BOTH || !c->wake_each) &&
	       shared_member_can_join(a->member, c->stack_bytes);
}

void attach_share_unskip(const struct perf_attach *a)
{
	for (size_t i = 0; a->member && i < a->set.fixed.n; i++)
		shared_member_skip(a->member, a->set.fixed.v[i].tid, false);
}

bool perf_attach_can_share(const struct perf_attach *a)
{
	return a->member != NULL;
}

bool perf_attach_shares(const struct perf_attach *a)
{
	return a->shares;
}

const int *perf_attach_shared_fds(const struct perf_attach *a)
{
	return a->member ? shared_events_poll_fds(a->config.shared) : NULL;
}

uint64_t perf_attach_shared_lost(const struct perf_attach *a)
{
	return a->member ? shared_member_lost(a->member) : 0;
}

void perf_attach_pull(struct perf_attach *a)
{
	if (a->member)
		shared_events_pull(a->config.shared);
}

const struct shared_record *perf_attach_peek_shared(struct perf_attach *a)
{
	return a->member ? shared_member_peek(a->member) : NULL;
}

void perf_attach_release_shared(struct perf_attach *a)
{
	shared_member_release(a->member);
}
