#ifndef JS_ENGINE_PERF_POLICY_H
#define JS_ENGINE_PERF_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/perf/copies/stack_size.h"
#include "sampler/engine/perf/copies/thread_stacks.h"
#include "sampler/engine/perf/event_choice.h"
#include "sampler/engine/perf/perf_thin.h"
#include "sampler/engine/perf/wake_mode.h"

struct engine_options;
struct perf_attach;
struct proc;

/*
 * What the events of a run should be like, learnt from its samples: how much of the stack the kernel copies, for all
 * threads and for single ones; whether each sample wakes its reader; whether events are on CPUs or on threads; how
 * much smaller the period has to be so that short-lived threads are sampled. perf_intake.c reports what it sees, and
 * the drain thread has the events reopened when others would do better.
 *
 * For one thread at a time, except `on`, `shares` and `stack_bytes`, which any thread may read. Times: CLOCK_MONOTONIC.
 */
struct perf_policy {
	struct proc *proc; /* borrowed, as is the attachment */
	struct perf_attach *attach;
	bool clock; /* the event counts CPU time */
	uint64_t period; /* as requested; events may have a smaller one, whose samples are thinned out */

	struct stack_size size;
	struct thread_stacks own; /* sizes of single threads */
	bool size_asked_for;
	bool may_own; /* events are on threads, and no size was requested */
	struct wake wake;

	struct event_choice choice;
	bool first_on_threads; /* in WAKE_FIRST */
	bool target_ended;
	uint64_t fork_ns; /* when the target was last seen to start a thread or process; 0: never */
	uint64_t calm_ns; /* after this long without a new thread, threads' events are inherited again */
	uint64_t changed_ns,
		new_choice_ns; /* when events were last opened; how long to wait before choosing threads again */

	struct perf_tails tails;
	/* Since the last change of the period: the weight of all samples; what threads without a sample used. */
	uint64_t due_ns, tail_ns;
	uint32_t divisor; /* the wanted divisor of the period */
	uint32_t divisor_most; /* the largest for which the rings have room; 0: no limit met yet */

	/* It hardly runs: what its first samples would show can wait, and others share their events with it. */
	bool idle, idle_now; /* wanted; so since the last change */
	uint32_t recent; /* samples in the second that began at recent_ns */
	uint64_t recent_ns;
	bool hardly_runs; /* by these and those of the second before */

	/* What the samples since the last change ask for. */
	uint32_t resize_to; /* 0: nothing */
	bool own_changed; /* sizes in `own` */
	enum wake_mode wake_to; /* equal to the present mode: nothing */
	uint32_t late; /* samples of events on CPUs that should have been read at once */

	_Atomic uint32_t stack_bytes;
	_Atomic int on; /* enum perf_attach_on, if events could be on CPUs */
	_Atomic bool shares; /* those on CPUs are shared with other targets */
};

/* The attachment is open. It will ask the policy for the threads' stack copy sizes. */
void perf_policy_init(struct perf_policy *p, struct proc *proc, struct perf_attach *attach,
		      const struct engine_options *o);

/* Before the events are enabled: chooses whether they start on CPUs or on threads. */
void perf_policy_begin(struct perf_policy *p);

/* Reads the target's threads from time to time; needs no lock. */
void perf_policy_poll(struct perf_policy *p);
/* Opens other events if they would do better. Returns whether it tried. */
bool perf_policy_adapt(struct perf_policy *p, bool target_ended);

static inline bool perf_policy_wakes_each(const struct perf_policy *p)
{
	return p->wake.mode != WAKE_BATCH;
}

/* How many samples of an event with this period one kept sample stands for. */
static inline uint32_t perf_policy_times(const struct perf_policy *p, uint64_t period)
{
	return p->clock && period && period < p->period ? (uint32_t)(p->period / period) : 1;
}

/* --- What the intake reports */

/* A sample of the thread, kept or not, of an event with this period. */
void perf_policy_note_sample(struct perf_policy *p, pid_t tid, uint64_t period);
/* A stack continues `beyond` bytes past its copy; `at_once`: frozen frames must be read before the thread continues. */
void perf_policy_note_stack(struct perf_policy *p, const struct stack_use *u, uint64_t beyond, bool at_once,
			    uint64_t now_ns);
/* A sample did not wake its reader, although more of its thread had to be read. */
void perf_policy_note_late(struct perf_policy *p);
/* A thread or process started. */
void perf_policy_note_start(struct perf_policy *p);
/* A thread ended, with `tail` left over on one CPU (struct perf_tails). */
void perf_policy_note_tail(struct perf_policy *p, pid_t tid, uint64_t tail);
/* A thread ended, or has a new stack after execve(). */
void perf_policy_forget(struct perf_policy *p, pid_t tid);
/* The rings had no room. */
void perf_policy_note_lost(struct perf_policy *p);

#endif
