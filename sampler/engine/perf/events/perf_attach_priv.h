#ifndef JS_ENGINE_PERF_ATTACH_PRIV_H
#define JS_ENGINE_PERF_ATTACH_PRIV_H

#include "sampler/engine/perf/events/event_set.h"
#include "sampler/engine/perf/events/perf_attach.h"
#include "sampler/engine/perf/events/perf_attr.h"
#include "sampler/engine/perf/events/perf_filter.h"
#include "sampler/engine/perf/events/perf_follow.h"
#include "sampler/engine/perf/events/perf_rest.h"
#include "sampler/engine/perf/events/shared_events.h"
#include "sampler/engine/perf/rings/perf_ring.h"

/* Internal to perf_attach*.c. */
struct perf_attach {
	struct proc *proc;
	struct perf_config config;
	enum perf_attach_mode mode; /* never AUTO */
	struct perf_filter filter;
	struct perf_follow follow; /* config.follow */
	int *cpus;
	size_t n_cpus;
	int *ring_fds; /* the dummy event that owns each CPU's ring */
	struct perf_ring *rings;
	size_t ring_size;
	struct event_set set;
	struct perf_rests rests; /* of replaced sets of events */
	uint64_t sampled; /* total weight of samples since the current events were opened */
	uint64_t lost_before; /* by replaced sets of events */
	bool enabled;
	enum perf_attach_on on; /* CPUS: where the events are now */
	bool automatic; /* the mode was not requested */
	void (*drain)(void *ctx);
	void *drain_ctx;
	const struct thread_stacks *stacks;
	struct shared_member *member; /* NULL: events on CPUs are its own */
	bool shares; /* the present events on CPUs are the shared ones */
};

size_t attach_ring_size(const struct perf_config *c); /* what is wanted */
/* One ring per CPU, of the wanted size, or smaller with a warning if that is not permitted. CPUs that went offline
 * are removed from the list. */
int attach_rings_open(struct perf_attach *a, struct err *err);
void attach_rings_close(struct perf_attach *a);

/* perf_attach_share.c. Takes part in config.shared, if it may. */
void attach_share_open(struct perf_attach *a);
/* Can the shared events be those on CPUs? No sample of them wakes its reader. */
bool attach_share_may(const struct perf_attach *a, const struct perf_attach_change *c, enum perf_attach_on on);
void attach_share_unskip(const struct perf_attach *a); /* the threads that have events of their own */

#endif
