#ifndef JS_ENGINE_PERF_ATTACH_PRIV_H
#define JS_ENGINE_PERF_ATTACH_PRIV_H

#include "sampler/engine/perf/events/event_set.h"
#include "sampler/engine/perf/events/perf_attach.h"
#include "sampler/engine/perf/events/perf_attr.h"
#include "sampler/engine/perf/events/perf_filter.h"
#include "sampler/engine/perf/events/perf_follow.h"
#include "sampler/engine/perf/events/perf_rest.h"
#include "sampler/engine/perf/events/perf_ring.h"

/* Internal to perf_attach*.c. */
struct perf_attach {
	struct proc *proc;
	struct perf_config config;
	enum perf_attach_mode mode; /* never AUTO */
	struct perf_filter filter;
	struct perf_follow follow; /* config.follow */
	int *cpus;
	size_t n_cpus;
	int *ring_fds; /* the dummy event of each CPU that owns the ring */
	struct perf_ring *rings;
	size_t ring_size;
	struct event_set set;
	struct perf_rests rests; /* of sets of events that were replaced */
	uint64_t sampled; /* weights of the samples since the present events were opened */
	uint64_t lost_before; /* by sets of events that were replaced */
	bool enabled;
	enum perf_attach_on on; /* CPUS: what the events are on for now */
	bool automatic; /* the mode was not asked for */
	void (*drain)(void *ctx);
	void *drain_ctx;
	const struct thread_stacks *stacks;
};

/* One ring per CPU, of the size that is wanted, or less if that is not permitted, with a warning. CPUs that went offline
 * are taken from the list. */
int attach_rings_open(struct perf_attach *a, struct err *err);
void attach_rings_close(struct perf_attach *a);

#endif
