#ifndef JS_ENGINE_SUSPEND_TICK_H
#define JS_ENGINE_SUSPEND_TICK_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/engine/suspend/suspend_frozen.h"
#include "sampler/engine/suspend/suspend_idle.h"
#include "sampler/engine/suspend/suspend_output.h"
#include "sampler/engine/suspend/suspend_requests.h"
#include "sampler/engine/suspend/suspend_threads.h"
#include "sampler/engine/suspend_stats.h"
#include "symbolizer/target/proc_owner.h"

struct err;
struct mem;
struct proc;
struct ptrace_stop_event;

/*
 * One tick of the suspend engine. A thread that was seen off the CPU and whose account has not changed since has not
 * run, and is left alone. A thread that has run and is blocked now is looked at without being stopped: its position,
 * its stack, and its account once more, which shows that all of these are from one moment. A running thread is asked
 * to stop, copied, and resumed at once; the tick does not wait for a thread that gets no CPU to stop on, but copies
 * and resumes it whenever it stops.
 *
 * Everything here belongs to the tracing thread.
 */
struct suspend_tick {
	struct proc *proc; /* borrowed */
	struct proc_owner owner; /* when sampling began */
	struct mem *mem; /* the address space being read; replaced after an execve(), unless that gave more rights */
	struct suspend_threads threads;
	struct suspend_idle idle;
	struct suspend_output out;
	struct suspend_requests requests;
	struct suspend_frozen frozen;
	uint64_t period_ns, max_pause_ns;

	uint64_t tick_ns, before_ns; /* when this tick began, and the one before */
	uint64_t number; /* of this tick */
	uint64_t first_stop_ns, last_stop_ns;
	size_t asked; /* threads that have not stopped yet */
	unsigned regs_stops; /* blocked threads asked to stop in this tick */
	uint64_t idle_reported_ns;
	uint64_t
		quiet_until_ns; /* no thread is asked to stop until then: another tracer is there, or the target is in execve() */
	uint64_t exec_checked_ns;
	bool refused; /* the target has executed a program with more rights */

	struct suspend_stats stats;
	struct suspend_times pause, stop, copy, spread;
};

/* `t`: zero except for the borrowed parts and the options. */
int suspend_tick_init(struct suspend_tick *t, struct err *err);
void suspend_tick_done(struct suspend_tick *t);

/* Looks at all threads and asks those that run to stop. */
void suspend_tick_begin(struct suspend_tick *t, uint64_t now_ns);
/* Takes an answer. False: the thread could not be resumed yet, and will answer again. */
bool suspend_tick_answer(struct suspend_tick *t, const struct ptrace_stop_event *e);

/* Queues everything that was held back. */
void suspend_tick_flush(struct suspend_tick *t);

#endif
