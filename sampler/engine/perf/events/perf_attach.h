#ifndef JS_ENGINE_PERF_ATTACH_H
#define JS_ENGINE_PERF_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/perf/events/perf_attr.h"
#include "sampler/engine/perf/events/perf_record.h"
#include "sampler/engine/perf/events/perf_ring.h"

struct err;
struct perf_follow;
struct proc;
struct thread_stacks;

/*
 * The events on one process, and one ring per CPU that they write to.
 *
 * CPUS: one event per CPU, with a filter for the process (perf_filter.h). Takes few descriptors; every nanosecond of
 * CPU time has the same chance to be sampled, however short its thread lives; costs nothing at context switches; needs
 * privileges.
 * THREADS: one event per (thread, CPU), inherited by new threads. The first sample of such an event comes after a whole
 * period, so a thread that ends earlier has none; what it used is reported when it ends (PERF_CAN_READ_ENDED).
 */
struct perf_attach;

enum perf_attach_mode {
	PERF_ATTACH_AUTO, /* CPUS where it is permitted and possible, else THREADS */
	PERF_ATTACH_THREADS,
	PERF_ATTACH_CPUS,
};

/* Finds out features and exclude_kernel; the other members are as in `c`. The events are still disabled. */
int perf_attach_open(struct proc *proc, const struct perf_config *c, enum perf_attach_mode mode,
		     struct perf_attach **ret, struct err *err);
void perf_attach_close(struct perf_attach *a);

/* `drain` is called now and then while many events are opened or enabled, because the rings fill meanwhile. */
void perf_attach_set_drain(struct perf_attach *a, void (*drain)(void *ctx), void *ctx);

/* Sizes of stack copies for events on threads; borrowed. */
void perf_attach_set_stacks(struct perf_attach *a, const struct thread_stacks *stacks);

void perf_attach_enable(struct perf_attach *a);
void perf_attach_disable(struct perf_attach *a);

/* In the mode CPUS, the events may be on threads nevertheless, so that they count the threads' own CPU time. */
enum perf_attach_on {
	PERF_ON_CPUS,
	PERF_ON_THREADS, /* and inherited: exact while no thread starts or ends */
	/*
	 * On threads that have existed for a while, and on CPUs for all others. Samples of events on CPUs never wake a
	 * reader then: it would take the CPU from the thread in step with the samples, and others that wait for the CPU
	 * would get it next, so that the thread runs for less than its samples say (3 to 6 % at 999 Hz on a busy machine).
	 */
	PERF_ON_BOTH,
};

/* What can be changed while the events sample. */
struct perf_attach_change {
	uint32_t stack_bytes;
	uint64_t period;
	bool wake_each; /* each sample wakes the reader of its ring */
	enum perf_attach_on on; /* CPUS only */
};

/* Replaces the present events by new ones that write to the same rings. On failure nothing changes. */
int perf_attach_reopen(struct perf_attach *a, const struct perf_attach_change *c);

size_t perf_attach_n_rings(const struct perf_attach *a);
struct perf_ring *perf_attach_ring(struct perf_attach *a, size_t i);
/* For each ring: readable when a quarter of it is used, or with each sample. Borrowed. */
const int *perf_attach_poll_fds(const struct perf_attach *a);
const int *perf_attach_cpus(const struct perf_attach *a); /* the number of each ring's CPU */

/* NULL: processes that the target starts are not followed. Borrowed. */
struct perf_follow *perf_attach_follow(struct perf_attach *a);

/* Is the sample of the target or a followed process, and not a second one of a thread that has two sets of events? */
bool perf_attach_accepts(struct perf_attach *a, const struct perf_record *r);
/* Once all events are disabled, in the mode CPUS: calls `tell` for each thread that has a rest. */
void perf_attach_each_rest(struct perf_attach *a, void (*tell)(void *ctx, pid_t tid, uint64_t rest), void *ctx);
/* What the thread had used since the last sample of its former events (perf_rest.h); 0 when asked again. */
uint64_t perf_attach_take_rest(struct perf_attach *a, pid_t tid);
/* To be called with every thread that started another one. */
void perf_attach_forked(struct perf_attach *a, pid_t tid);
/* To be called with every EXIT record, and COMM with exec. */
void perf_attach_note(struct perf_attach *a, const struct perf_record *r);

const struct perf_config *perf_attach_config(const struct perf_attach *a);
/* May the events be on CPUs or on threads, as the caller likes? Yes, if AUTO became CPUS. */
bool perf_attach_may_choose(const struct perf_attach *a);
enum perf_attach_mode perf_attach_mode(const struct perf_attach *a);
bool perf_attach_by_thread(const struct perf_attach *a); /* there is one event per (thread, CPU), and no other */
bool perf_attach_may_both(const struct perf_attach *a); /* PERF_ON_BOTH is possible */
/* Is event `id`, a sample of which is in this ring, on the CPU? Its time is that of the CPU, not of a thread. */
bool perf_attach_is_cpu_event(const struct perf_attach *a, size_t ring, uint64_t id);
/* Does each sample of this event wake its reader? */
bool perf_attach_wakes(const struct perf_attach *a, size_t ring, uint64_t id);
size_t perf_attach_events(const struct perf_attach *a); /* their number, without inherited ones */
size_t perf_attach_threads(const struct perf_attach *a); /* at the time of attaching */
size_t perf_attach_ring_size(const struct perf_attach *a);

/* Records of the sampling events for which there was no room, as counted by the kernel; false: it does not count them (before
 * Linux 6.0). */
bool perf_attach_lost(const struct perf_attach *a, uint64_t *ret);

/* The same of the present events of one ring; and whether a ring may get stuck, and these counts tell (ring_watch.h). */
uint64_t perf_attach_ring_lost(const struct perf_attach *a, size_t ring);
bool perf_attach_may_stick(const struct perf_attach *a);

/* Replaces a ring that is stuck; what is in it is lost. */
int perf_attach_renew_ring(struct perf_attach *a, size_t ring);

#endif
