#ifndef JS_ENGINE_PERF_FOLLOW_H
#define JS_ENGINE_PERF_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/perf/events/family.h"
#include "sampler/engine/perf/rings/perf_ring.h"

struct perf_config;
struct perf_filter;

/*
 * Lets the events follow the processes that the target starts. Events on threads are inherited by them in the kernel.
 * The filter of events on CPUs learns of a new process as soon as the record of its fork is read: such records have
 * rings of their own, which wake their reader at once (0.1 ms).
 */
struct perf_follow {
	struct family family;
	struct perf_filter *filter; /* borrowed; NULL: events on threads only */
	const struct perf_config *config; /* borrowed; for the records' layout */
	struct perf_ring *rings;
	int *fds; /* the event of each ring */
	size_t n;
	bool lost; /* records were lost since the last scan for existing processes */
	uint64_t scanned_ns, scan_cost_ns; /* when that scan ended, and how long it took */
};

/* `cpus`: where to record forks; none if events are inherited. 0 or -errno. */
int perf_follow_open(struct perf_follow *f, struct proc *target, const struct perf_config *config,
		     struct perf_filter *filter, const int *cpus, size_t n_cpus);
void perf_follow_close(struct perf_follow *f);

/* Begins with the processes that exist now. */
void perf_follow_start(struct perf_follow *f);
/* Reads the rings. */
void perf_follow_take(struct perf_follow *f);

#endif
