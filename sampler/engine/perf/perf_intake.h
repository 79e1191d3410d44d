#ifndef JS_ENGINE_PERF_INTAKE_H
#define JS_ENGINE_PERF_INTAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/engine.h"
#include "sampler/engine/perf/copies/stack_rest.h"
#include "sampler/engine/perf/perf_msg.h"
#include "sampler/engine/perf/perf_thin.h"
#include "sampler/engine/perf/rings/perf_record.h"
#include "sampler/engine/perf/unfollowed.h"

struct perf_attach;
struct perf_policy;
struct perf_steps;
struct proc;
struct sample_queue;

/* The thread that reads a ring. */
struct perf_reader {
	size_t ring;
	struct perf_steps *steps; /* of this ring; NULL: the reader's own time is not subtracted */
	/* The CPU that the reader occupies in place of the threads sampled there; -1: none, so these threads may have
	 * moved on, and no more of their stacks is read. */
	int cpu;
	bool shared; /* not its own ring: events that several targets share have written the record */
	uint64_t *last_ns; /* time of the ring's last record; NULL: not needed */
	uint64_t waiting_since_ns; /* samples after this have woken the reader */
	uint64_t switches; /* engine_thread_switches() when it woke */
};

/* Readable from any thread. */
struct perf_intake_stats {
	uint64_t lost_ring, lost_samples, lost_queue, throttled, foreign, malformed;
	uint64_t cut, rest_joined, rest_refused; /* stacks deeper than their copy; what became of them */
	uint64_t lost_weight; /* of lost_ring; less than a period each if samples were to be thinned out */
};

/*
 * Turns records of the kernel's rings into messages for the queue: keeps the part of each copy that belongs to the
 * stack, reads the rest of a stack that was cut, and reports to the policy. For one thread at a time. Its members are
 * private.
 */
struct perf_intake {
	struct proc *proc; /* borrowed, as are the next three */
	struct perf_attach *attach;
	struct sample_queue *queue;
	struct perf_policy *policy;
	struct perf_layout layout;
	struct engine_frozen frozen;
	uint64_t weight; /* of every sample; 0: each has its own */
	struct perf_thin thin;
	struct unfollowed unfollowed; /* processes that are not followed */
	struct stack_rest rest; /* of the target's stacks */
	struct stack_ends ends;
	struct perf_reader reader; /* of the current record */
	unsigned unpublished;
	uint64_t unpublished_ns; /* both for perf_intake_unpublished() */
	uint64_t shared_lost; /* of shared events, counted so far */
	uint64_t shared_bytes; /* taken of shared events since perf_intake_take_shared_bytes() */
	bool pushed; /* something was queued since perf_intake_take_pushed() */

	_Atomic uint64_t lost_ring, lost_samples, lost_queue, throttled, foreign, malformed;
	_Atomic uint64_t cut, joined, refused;
	_Atomic uint64_t reported_lost,
		reported_lost_weight; /* by the kernel's records of losses, weighted by the period at that time */
};

void perf_intake_init(struct perf_intake *in, struct perf_attach *attach, struct sample_queue *q,
		      struct perf_policy *policy, const struct engine_options *o);
void perf_intake_done(struct perf_intake *in);

/* Takes everything from the reader's ring. */
void perf_intake_drain(struct perf_intake *in, const struct perf_reader *r);
/*
 * Takes samples of shared events until that time, those of each CPU in their order. Side-band records are in the target's
 * own rings: whoever reads them takes the samples before them first.
 */
void perf_intake_shared(struct perf_intake *in, uint64_t until_ns);
/*
 * The time of the second record that the kernel has written into the reader's drained ring without publishing it
 * (ring_watch.h); 0: there are fewer than two. perf_intake_salvage() takes the samples among them.
 */
uint64_t perf_intake_unpublished(struct perf_intake *in, const struct perf_reader *r);
void perf_intake_salvage(struct perf_intake *in, const struct perf_reader *r);
/* As perf_intake_drain(), for one record of `size` bytes. */
void perf_intake_record(struct perf_intake *in, const struct perf_reader *r, const void *bytes, size_t size);
/* Call from time to time: reads the names of processes that are not followed. */
void perf_intake_poll(struct perf_intake *in);
/* For perf_attach_each_rest(), with the intake as `ctx`: what a thread used after its last sample. */
void perf_intake_rest(void *ctx, pid_t tid, uint64_t rest);
/* Has anything been queued since the last call? */
bool perf_intake_take_pushed(struct perf_intake *in);
/* What was taken of shared events since the last call. */
uint64_t perf_intake_take_shared_bytes(struct perf_intake *in);
/* Sets the number of lost records as counted by the events, which know better than the rings. */
void perf_intake_set_lost(struct perf_intake *in, uint64_t lost);

struct perf_intake_stats perf_intake_stats(const struct perf_intake *in);

#endif
