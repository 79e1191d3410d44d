#ifndef JS_ENGINE_HOST_EVENTS_H
#define JS_ENGINE_HOST_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/engine/perf/events/event_set.h"
#include "sampler/engine/perf/events/perf_attr.h"
#include "sampler/engine/perf/events/perf_members.h"
#include "sampler/engine/perf/rings/perf_ring.h"

struct err;

/*
 * One set of events for all processes of a host: an event on each CPU, with the filter of perf_members.h, and two rings
 * per CPU: one for samples, and one for side-band records of all processes (names, starts and ends of threads, mapped
 * files). A flood of side-band records loses such records, but no samples.
 */
struct host_events {
	struct perf_config config;
	struct perf_members members;
	int *cpus;
	size_t n_cpus;
	struct perf_ring *rings; /* the first n_cpus are for samples, the others for side-band records */
	int *fds; /* the event that owns each ring */
	struct event_set set;
	uint64_t lost_before; /* by sets that were replaced */
	bool enabled;
};

/* The events are disabled, and there are no members. config: without features. 0 or -errno. Close it in either case. */
int host_events_open(struct host_events *h, const struct perf_config *config, struct err *err);
void host_events_close(struct host_events *h);

void host_events_enable(struct host_events *h);
void host_events_disable(struct host_events *h);
/* Changes the size of stack copies. On failure nothing changes. */
int host_events_resize(struct host_events *h, uint32_t stack_bytes);

static inline size_t host_events_rings(const struct host_events *h)
{
	return 2 * h->n_cpus;
}

/* Samples that found no room, as counted by the kernel. false: it does not count them (before Linux 6.0). */
bool host_events_lost(const struct host_events *h, uint64_t *ret);

#endif
