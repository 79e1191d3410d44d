#ifndef JS_ENGINE_PERF_INTAKE_H
#define JS_ENGINE_PERF_INTAKE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/engine/engine.h"
#include "sampler/engine/perf/left_alone.h"
#include "sampler/engine/perf/perf_record.h"
#include "sampler/engine/perf/perf_thin.h"
#include "sampler/engine/perf/stack_end.h"
#include "sampler/engine/perf/stack_rest.h"
#include "sampler/engine/perf/stack_size.h"
#include "sampler/engine/perf/thread_stacks.h"
#include "sampler/engine/perf/wake_mode.h"

struct perf_attach;
struct perf_steps;
struct proc;
struct sample_queue;

/*
 * Turns records of the kernel's rings into messages for the queue: keeps of a stack's copy what is
 * stack, reads the rest of one that was cut, and says what size of the copy and what way of waking
 * would do better. One thread at a time uses it; the counters may be read by others.
 */
struct perf_intake {
	struct proc *proc; /* borrowed, as the next two */
	struct perf_attach *attach;
	struct sample_queue *queue;
	struct perf_layout layout;
	uint64_t weight; /* of every sample; 0: each says its own */
	bool clock; /* the event goes by CPU time */
	uint64_t period; /* as asked for; events may have a smaller one, whose samples are thinned out */
	struct perf_thin thin;
	struct perf_tails tails;
	/* Since the period was last changed: the weights of all samples; what threads without a sample used. */
	uint64_t due_ns, tail_ns;
	uint32_t divisor; /* of the period: the one that is wanted */
	uint32_t divisor_most; /* the largest for which the rings have room; 0: no limit has been met */
	struct perf_steps *step; /* of the ring that is read; NULL: none */
	uint64_t fork_ns; /* when the target was last seen to make a thread (CLOCK_MONOTONIC); 0: never */
	struct left_alone alone; /* processes that are not followed */
	struct engine_aside aside;
	struct stack_rest rest;
	struct stack_size size;
	struct thread_stacks own; /* sizes of single threads */
	bool may_own; /* events are on threads, and no size was asked for */
	struct stack_ends ends;
	struct wake wake;
	uint32_t resize_to; /* asked for by the samples of this round; 0: nothing */
	bool own_changed; /* the same: what `own` says */
	enum wake_mode wake_to; /* the same; the present mode: nothing */
	uint32_t late; /* samples of events on CPUs that should have been read at once */
	bool pushed; /* since the owner took it back */
	/* The caller occupies this CPU in place of the threads that were sampled there; -1: it does not, they
	 * may have gone on, and no more of their stacks is read. */
	int cpu;
	uint64_t waiting_since_ns; /* the sample that came after this has woken the caller */
	uint64_t switches; /* prompt_switches() when it woke */

	_Atomic uint64_t lost_ring, lost_samples, lost_queue, throttled, foreign, malformed;
	_Atomic uint64_t cut, joined, refused;
	_Atomic uint64_t told_lost, told_weight; /* by the kernel's records of losses, weighed by the period of that time */
};

/* A perf_ring_fn; `ctx` is the intake. */
int perf_intake_record(void *ctx, const void *bytes, size_t size);
void perf_intake_look(struct perf_intake *in); /* now and then: what has become of processes that are left alone */
void perf_intake_malformed(struct perf_intake *in); /* a ring made no sense */

static inline bool perf_intake_wants_change(const struct perf_intake *in)
{
	return in->resize_to || in->own_changed || in->wake_to != in->wake.mode;
}

/* What the samples that found no room in a ring stand for, in the event's unit. */
uint64_t perf_intake_lost_weight(const struct perf_intake *in);

#endif
