#ifndef JS_ENGINE_PERF_ATTACH_H
#define JS_ENGINE_PERF_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/perf/events/perf_attr.h"
#include "sampler/engine/perf/rings/perf_record.h"
#include "sampler/engine/perf/rings/perf_ring.h"

struct err;
struct perf_follow;
struct proc;
struct shared_record;
struct thread_stacks;

/*
 * The events on one process, and one ring per CPU for their records.
 *
 * CPUS: one event per CPU, with a filter for the process (perf_filter.h). Takes few descriptors; every nanosecond of
 * CPU time has the same chance of being sampled, however short-lived its thread; costs nothing at context switches;
 * needs privileges.
 * THREADS: one event per (thread, CPU), inherited by new threads. Its first sample comes after a whole period, so a
 * thread that ends earlier has none; what it used is reported when it ends (PERF_CAN_READ_ENDED).
 */
struct perf_attach;

enum perf_attach_mode {
	PERF_ATTACH_AUTO, /* CPUS where permitted and possible, otherwise THREADS */
	PERF_ATTACH_THREADS,
	PERF_ATTACH_CPUS,
};

/* Determines `features` and `exclude_kernel`; other members are as in `c`. The events are still disabled. */
int perf_attach_open(struct proc *proc, const struct perf_config *c, enum perf_attach_mode mode,
		     struct perf_attach **ret, struct err *err);
void perf_attach_close(struct perf_attach *a);

/* `drain` is called from time to time while many events are opened or enabled, because the rings fill meanwhile. */
void perf_attach_set_drain(struct perf_attach *a, void (*drain)(void *ctx), void *ctx);

/* Sizes of stack copies for events on threads; borrowed. */
void perf_attach_set_stacks(struct perf_attach *a, const struct thread_stacks *stacks);

void perf_attach_enable(struct perf_attach *a);
void perf_attach_disable(struct perf_attach *a);

/* In mode CPUS, the events may still be on threads, to count the threads' own CPU time. */
enum perf_attach_on {
	PERF_ON_CPUS,
	PERF_ON_THREADS, /* also inherited: exact while no thread starts or ends */
	/*
	 * On threads that have existed for a while, and on CPUs for all others. Then samples of events on CPUs never
	 * wake a reader: it would take the CPU from the thread in step with the samples, others waiting for the CPU
	 * would get it next, and the thread would run for less time than its samples say (3 to 6 % at 999 Hz on a
	 * busy machine).
	 */
	PERF_ON_BOTH,
};

/* What can be changed while the events are sampling. */
struct perf_attach_change {
	uint32_t stack_bytes;
	uint64_t period;
	bool wake_each; /* each sample wakes the reader of its ring */
	enum perf_attach_on on; /* CPUS only */
};

/* Replaces the current events with new ones that write to the same rings. On failure nothing changes. */
int perf_attach_reopen(struct perf_attach *a, const struct perf_attach_change *c);

/*
 * Samples of events that several targets share (shared_events.h), if it may use them: it does while they are on CPUs and
 * wake no reader.
 */
bool perf_attach_can_share(const struct perf_attach *a);
bool perf_attach_shares(const struct perf_attach *a); /* at present */
const int *perf_attach_shared_fds(const struct perf_attach *a); /* one per ring; NULL: none. Borrowed. */
uint64_t perf_attach_shared_lost(const struct perf_attach *a); /* its samples that found no room, most likely */
void perf_attach_pull(struct perf_attach *a); /* makes all samples until now available */
const struct shared_record *perf_attach_peek_shared(struct perf_attach *a); /* the oldest one; NULL: none */
void perf_attach_release_shared(struct perf_attach *a);

size_t perf_attach_ring_count(const struct perf_attach *a);
struct perf_ring *perf_attach_ring(struct perf_attach *a, size_t i);
/* One per ring: readable when a quarter of the ring is used, or at each sample. Borrowed. */
const int *perf_attach_poll_fds(const struct perf_attach *a);
const int *perf_attach_cpus(const struct perf_attach *a); /* the number of each ring's CPU */

/* NULL: processes that the target starts are not followed. Borrowed. */
struct perf_follow *perf_attach_follow(struct perf_attach *a);

/* Is the sample of the target or a followed process, and not a second one of a thread with two sets of events? */
bool perf_attach_accepts(struct perf_attach *a, const struct perf_record *r);
/* In mode CPUS, once all events are disabled: calls `tell` for each thread that has a rest. */
void perf_attach_each_rest(struct perf_attach *a, void (*tell)(void *ctx, pid_t tid, uint64_t rest), void *ctx);
/* Removes and returns what the thread used since the last sample of its former events (perf_rest.h). */
uint64_t perf_attach_take_rest(struct perf_attach *a, pid_t tid);
/*
 * In mode THREADS, once a thread has ended: calls `tell` with the count of each event that was opened for it; the kernel
 * itself reports the counts of inherited events only. Leaves out threads that also had inherited events, and those whose
 * counts include their children's. Call before perf_attach_note().
 */
void perf_attach_each_count(struct perf_attach *a, pid_t tid, void (*tell)(void *ctx, uint64_t counted), void *ctx);
/* Call for every thread that has started another one. */
void perf_attach_forked(struct perf_attach *a, pid_t tid);
/* Call for every EXIT record, and every COMM with exec. */
void perf_attach_note(struct perf_attach *a, const struct perf_record *r);

const struct perf_config *perf_attach_config(const struct perf_attach *a);
/* May the caller choose between events on CPUs and on threads? Yes, if AUTO became CPUS. */
bool perf_attach_can_choose(const struct perf_attach *a);
enum perf_attach_mode perf_attach_mode(const struct perf_attach *a);
bool perf_attach_by_thread(const struct perf_attach *a); /* all events are per (thread, CPU) */
bool perf_attach_can_use_both(const struct perf_attach *a); /* PERF_ON_BOTH is possible */
/* Is event `id`, which has a sample in this ring, on the CPU? Its time is then the CPU's, not a thread's. */
bool perf_attach_is_cpu_event(const struct perf_attach *a, size_t ring, uint64_t id);
/* Does each sample of this event wake its reader? */
bool perf_attach_wakes(const struct perf_attach *a, size_t ring, uint64_t id);
size_t perf_attach_events(const struct perf_attach *a); /* not counting inherited ones */
size_t perf_attach_threads(const struct perf_attach *a); /* at the time of attaching */
size_t perf_attach_ring_size(const struct perf_attach *a);

/* Records of the sampling events that found no room, as counted by the kernel; false: it does not count them (before
 * Linux 6.0). */
bool perf_attach_lost(const struct perf_attach *a, uint64_t *ret);

/* The same for the current events of one ring; whether a ring may get stuck, which these counts show (ring_watch.h). */
uint64_t perf_attach_ring_lost(const struct perf_attach *a, size_t ring);
bool perf_attach_rings_may_stick(const struct perf_attach *a);

/* Replaces a stuck ring, whose content is lost. */
int perf_attach_renew_ring(struct perf_attach *a, size_t ring);

#endif
