#ifndef JS_ENGINE_PERF_ATTACH_PRIV_H
#define JS_ENGINE_PERF_ATTACH_PRIV_H

#include "sampler/engine/perf/event_set.h"
#include "sampler/engine/perf/perf_attach.h"
#include "sampler/engine/perf/perf_attr.h"
#include "sampler/engine/perf/perf_filter.h"
#include "sampler/engine/perf/perf_follow.h"
#include "sampler/engine/perf/perf_ring.h"

/* Internal to perf_attach*.c. */
struct perf_attach {
	struct proc *proc;
	struct perf_config config;
	enum perf_attach_mode mode; /* never AUTO */
	struct perf_filter filter;
	struct perf_follow follow; /* config.follow */
	int *cpus;
	size_t n_cpus;
	int *ring_fds; /* a dummy event a CPU that owns the ring */
	struct perf_ring *rings;
	size_t ring_size;
	struct event_set set;
	uint64_t lost_before; /* of sets that were replaced */
	bool enabled;
	enum perf_attach_on on; /* CPUS: what the events are on for now */
	bool automatic; /* the mode was not asked for */
	void (*breathe)(void *ctx);
	void *breathe_ctx;
	uint32_t (*stack_of)(const void *ctx, pid_t tid, uint32_t common);
	const void *stack_of_ctx;
};

/* One ring a CPU, as large as is wanted or permitted; says so when that is less. CPUs that went away
 * meanwhile are taken from the list. */
int attach_rings_open(struct perf_attach *a, struct err *err);
void attach_rings_close(struct perf_attach *a);

#endif
