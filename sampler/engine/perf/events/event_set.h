#ifndef JS_ENGINE_EVENT_SET_H
#define JS_ENGINE_EVENT_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/perf/events/perf_attr.h"
#include "symbolizer/base/vec.h"

struct family;
struct proc;
struct thread_stacks;

struct event_fd {
	int fd;
	uint32_t cpu; /* index into the set's CPUs */
	pid_t tid; /* -1: an event on that CPU; 0: on a thread that has ended */
};

/* A thread that started while its process was being attached to: besides the events opened for it, it may have
 * inherited some from the thread that started it. */
struct event_suspect {
	pid_t tid;
	uint64_t id; /* an event opened for it */
};

/* A thread with events of its own, which the filter of events on CPUs skips. */
struct event_fixed {
	pid_t tid, ns_tid; /* as this program sees it, and in the target's PID namespace */
};

/* Sampling events of one size of stack copy. Zero-initialise; event_set_done(). */
struct event_set {
	VEC(struct event_fd) events;
	VEC(struct event_suspect) suspects;
	VEC(struct event_fixed) fixed;
	VEC(uint64_t) cpu_ids; /* IDs of the events on each CPU; empty: there are none */
	pid_t *known; /* sorted: threads that were attached to */
	size_t n_known;
};

/* Where to open events. */
struct event_target {
	struct proc *proc;
	const struct family *family; /* its threads get events too; NULL: only those of `proc` */
	const struct perf_config *config;
	const int *cpus; /* numbers of the CPUs */
	const int *ring_fds; /* the event that owns each CPU's ring */
	size_t n_cpus;
	int filter_fd; /* of CPU-wide events only */
	/* Called from time to time during long work, to empty the rings meanwhile; may be NULL. */
	void (*drain)(void *ctx);
	void *drain_ctx;
	/* CPU-wide events start one after the other, this far apart: readers that wake at the same moment on all CPUs
	 * would be in each other's way. */
	uint64_t stagger_ns;
	const struct thread_stacks
		*stacks; /* sizes of stack copies, for events on threads; NULL: that of the configuration */
};

/* Call after enabling each event. */
void event_stagger(const struct event_target *t);

/* One event per CPU, with the filter. */
int event_set_open_cpus(struct event_set *s, const struct event_target *t);

/*
 * One event per (thread, CPU), not inherited, for each thread that is at least EVENT_FIXED_NS old. The other threads
 * need event_set_open_cpus() as well.
 */
#define EVENT_FIXED_NS UINT64_C(1000000000)
int event_set_open_fixed(struct event_set *s, const struct event_target *t);

/*
 * One event per (thread, CPU) for each thread that is not known yet; threads are listed a few times, until no new one
 * appears. `enable`: start the events at once. -ESRCH: no thread is left. May be called again for later threads.
 */
int event_set_open_threads(struct event_set *s, const struct event_target *t, bool enable);

/* Are there events opened for this thread? */
bool event_set_knows(const struct event_set *s, pid_t tid);

void event_set_enable(const struct event_set *s, const struct event_target *t);
void event_set_disable(const struct event_set *s);
/* Records lost by an event and those inherited from it; for events that count them (PERF_CAN_COUNT_LOST). */
uint64_t event_lost(const struct event_fd *e);
/* Adds the number of records that the events lost; for events that count them (PERF_CAN_COUNT_LOST). */
void event_set_read_lost(const struct event_set *s, uint64_t *sum);
/* The event's count in its unit, including inherited events; 0: none, or unreadable. */
uint64_t event_counted(const struct event_fd *e);
void event_set_done(struct event_set *s);

#endif
