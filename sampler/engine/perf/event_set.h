#ifndef JS_ENGINE_EVENT_SET_H
#define JS_ENGINE_EVENT_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/perf/perf_attr.h"
#include "symbolizer/base/vec.h"

struct family;
struct proc;

/* One opened event. */
struct event_fd {
	int fd;
	uint32_t cpu; /* index into the set's CPUs */
};

/* A thread that appeared while its process was being attached to: it may have inherited events from
 * the thread that made it, besides those opened for it. */
struct event_suspect {
	pid_t tid;
	uint64_t id; /* an event opened for it */
};

/* A thread with events of its own besides those on the CPUs; the latter leave it out. */
struct event_fixed {
	pid_t tid, ns_tid; /* as this program sees it, and in the target's PID namespace */
};

/* Sampling events of one size of stack copy. Zero-initialise; event_set_done(). */
struct event_set {
	VEC(struct event_fd) events;
	VEC(struct event_suspect) suspects;
	VEC(struct event_fixed) fixed;
	VEC(uint64_t) cpu_ids; /* of events on CPUs */
	pid_t *known; /* sorted: threads that were attached to */
	size_t n_known;
};

/* Where events go. */
struct event_target {
	struct proc *proc;
	const struct family *family; /* its threads are opened too; NULL: those of `proc` alone */
	const struct perf_config *config;
	const int *cpus; /* numbers of the CPUs */
	const int *ring_fds; /* the event of each CPU that owns the ring */
	size_t n_cpus;
	int filter_fd; /* CPU-wide events only */
	/* Called now and then during long work, so that the rings can be emptied meanwhile; may be
	 * NULL. */
	void (*breathe)(void *ctx);
	void *breathe_ctx;
	/* CPU-wide events begin that long one after the other: readers woken at the same moment on all CPUs
	 * would be in each other's way. */
	uint64_t stagger_ns;
	/* Size of the stack copy of one thread, for events on threads; NULL: that of the configuration. */
	uint32_t (*stack_of)(const void *ctx, pid_t tid, uint32_t common);
	const void *stack_of_ctx;
};

/* To be called after each event that was enabled. */
void event_stagger(const struct event_target *t);

/* One event a CPU, with the filter. */
int event_set_open_cpus(struct event_set *s, const struct event_target *t);

/*
 * One event a (thread, CPU) for every thread that is EVENT_FIXED_NS old, not inherited. For the others
 * event_set_open_cpus() is to be called, too.
 */
#define EVENT_FIXED_NS UINT64_C(1000000000)
int event_set_open_fixed(struct event_set *s, const struct event_target *t);

/*
 * One event a (thread, CPU) for every thread that is not known yet; threads are listed again until
 * no new one appears. `enable`: at once. -ESRCH: no thread is left. Call it again to catch up.
 */
int event_set_open_threads(struct event_set *s, const struct event_target *t, bool enable);

void event_set_enable(const struct event_set *s, const struct event_target *t);
void event_set_disable(const struct event_set *s);
/* Adds the records that the events lost; only where they were opened to count these (PERF_CAN_COUNT_LOST). */
void event_set_read_lost(const struct event_set *s, uint64_t *sum);
void event_set_done(struct event_set *s);

#endif
