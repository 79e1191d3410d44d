#ifndef JS_ENGINE_PERF_FOLLOW_H
#define JS_ENGINE_PERF_FOLLOW_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/perf/family.h"
#include "sampler/engine/perf/perf_ring.h"

struct perf_config;
struct perf_filter;

/*
 * Lets the events follow the processes that the target starts. Events on threads are inherited by them, in the kernel.
 * Events on CPUs have a filter, which is told of each new process as soon as the record of its fork arrives: these
 * records have rings of their own, which wake their reader at once (0.1 ms).
 */
struct perf_follow {
	struct family family;
	struct perf_filter *filter; /* borrowed; NULL: events on threads only */
	const struct perf_config *config; /* borrowed: of the records' layout */
	struct perf_ring *rings;
	int *fds; /* the event of each ring */
	size_t n;
	uint64_t now_ns; /* while a ring is read */
};

/* `cpus`: where forks are to be noted; 0 of them where the kernel has the events inherited. 0 or -errno. */
int perf_follow_open(struct perf_follow *f, struct proc *target, const struct perf_config *config,
		     struct perf_filter *filter, const int *cpus, size_t n_cpus);
void perf_follow_close(struct perf_follow *f);

/* From now on; those that are there already are taken in. */
void perf_follow_start(struct perf_follow *f);
/* Reads the rings. */
void perf_follow_take(struct perf_follow *f);

#endif
