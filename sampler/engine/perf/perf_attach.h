#ifndef JS_ENGINE_PERF_ATTACH_H
#define JS_ENGINE_PERF_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/perf/perf_attr.h"
#include "sampler/engine/perf/perf_record.h"
#include "sampler/engine/perf/perf_ring.h"

struct err;
struct perf_follow;
struct proc;

/*
 * The events on one process, and one ring a CPU that they write to.
 *
 * CPUS: one event a CPU, with a filter on the process (perf_filter.h). Few descriptors, every CPU
 * nanosecond of every thread has the same chance however short the thread lives, nothing is done at
 * context switches; needs privileges.
 * THREADS: one event a (thread, CPU), inherited by new threads. Each such event begins with a whole
 * period before its first sample, so a thread that ends before it used one on a CPU is not seen; what it
 * used is reported when it ends (PERF_CAN_READ_ENDED).
 */
struct perf_attach;

enum perf_attach_mode {
	PERF_ATTACH_AUTO, /* CPUS where it is permitted and possible, else THREADS */
	PERF_ATTACH_THREADS,
	PERF_ATTACH_CPUS,
};

/* `c`: features and exclude_kernel are found out here. Everything is disabled yet. */
int perf_attach_open(struct proc *proc, const struct perf_config *c, enum perf_attach_mode mode,
		     struct perf_attach **ret, struct err *err);
void perf_attach_close(struct perf_attach *a);

/* `breathe` is called now and then while many events are opened or enabled (here and in
 * perf_attach_reopen()): the rings fill meanwhile. */
void perf_attach_set_breathe(struct perf_attach *a, void (*breathe)(void *ctx), void *ctx);

/* Asked for the size of a thread's stack copy (`common`: what the others have) when events are opened on it. */
void perf_attach_set_stack_of(struct perf_attach *a,
			      uint32_t (*stack_of)(const void *ctx, pid_t tid, uint32_t common), const void *ctx);

void perf_attach_enable(struct perf_attach *a);
void perf_attach_disable(struct perf_attach *a);

/* In the mode CPUS the events may be on the threads nevertheless, so that their own CPU time is counted. */
enum perf_attach_on {
	PERF_ON_CPUS,
	PERF_ON_THREADS, /* and inherited: right while no thread starts or ends */
	/*
	 * On threads that have been there for a while, and on CPUs for all others; samples of the latter never wake
	 * a reader. It would take the CPU from the thread in step with the samples, and where others wait for the CPU they
	 * get it then: the thread runs for less than its samples say (+3 to +6 % at 999 Hz on a busy machine).
	 */
	PERF_ON_BOTH,
};

/* What the events can be changed to while they sample. */
struct perf_attach_change {
	uint32_t stack_bytes;
	uint64_t period;
	bool wake_each; /* each sample wakes the reader of its ring */
	enum perf_attach_on on; /* CPUS only */
};

/* New events take over from the present ones, into the same rings. On failure all stays as it was. */
int perf_attach_reopen(struct perf_attach *a, const struct perf_attach_change *c);

size_t perf_attach_n_rings(const struct perf_attach *a);
struct perf_ring *perf_attach_ring(struct perf_attach *a, size_t i);
/* Of each ring: readable when a quarter is used, or with each sample. Borrowed. */
const int *perf_attach_poll_fds(const struct perf_attach *a);
const int *perf_attach_cpus(const struct perf_attach *a); /* the number of each ring's CPU */

/* The processes that the target starts, where they are followed; else NULL. Borrowed. */
struct perf_follow *perf_attach_follow(struct perf_attach *a);

/* Is this sample of the target or of one that is followed, and not the second one of a thread that has two sets of events? */
bool perf_attach_accepts(struct perf_attach *a, const struct perf_record *r);
/* To be told of every EXIT and of COMM with exec, for perf_attach_accepts(). */
void perf_attach_note(struct perf_attach *a, const struct perf_record *r);

const struct perf_config *perf_attach_config(const struct perf_attach *a);
/* Events on CPUs, or for a while on threads, as the owner likes: opened with AUTO, which became CPUS. */
bool perf_attach_may_choose(const struct perf_attach *a);
enum perf_attach_mode perf_attach_mode(const struct perf_attach *a);
bool perf_attach_by_thread(const struct perf_attach *a); /* there is one event a (thread, CPU), and no other */
bool perf_attach_may_both(const struct perf_attach *a); /* PERF_ON_BOTH is possible */
/* Of an event on a CPU: its time is that of the CPU, not of the thread. */
bool perf_attach_is_cpu_event(const struct perf_attach *a, uint64_t id);
/* Does each sample of this event wake its reader? */
bool perf_attach_wakes(const struct perf_attach *a, uint64_t id);
size_t perf_attach_events(const struct perf_attach *a); /* how many there are, but for inherited ones */
size_t perf_attach_threads(const struct perf_attach *a); /* at the time of attaching */
size_t perf_attach_ring_size(const struct perf_attach *a);

/* Records of the sampling events that found no room, as the kernel counted them; false: it does not (before
 * 6.0). */
bool perf_attach_lost(const struct perf_attach *a, uint64_t *ret);

#endif
