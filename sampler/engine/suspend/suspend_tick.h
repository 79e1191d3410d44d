#ifndef JS_ENGINE_SUSPEND_TICK_H
#define JS_ENGINE_SUSPEND_TICK_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/engine/engine.h"
#include "sampler/engine/suspend/suspend_idle.h"
#include "sampler/engine/suspend/suspend_threads.h"
#include "sampler/engine/suspend_stats.h"

struct err;
struct mem;
struct proc;
struct ptrace_stop_event;
struct sample_queue;

/*
 * One tick of the suspend engine. A thread whose account has not moved since it was seen off the CPU
 * has not run: nothing is done to it. One that has run and is blocked now is looked at and not
 * stopped: its position, its stack, and once more its account, which shows that all of it is of one
 * moment. One that runs is asked to stop, copied, and let go at once; for a thread that does
 * not get a CPU to stop on, the tick does not wait: it is copied and let go when it stops.
 *
 * Everything here belongs to the thread that traces.
 */
struct suspend_tick {
	struct proc *proc; /* borrowed, as the queue */
	struct sample_queue *queue;
	struct mem *mem; /* the address space being read; replaced after an execve() */
	struct sample_queue *wishes; /* struct suspend_wish, from the owner */
	struct suspend_threads threads;
	struct suspend_idle idle;
	bool wall;
	bool ask_first; /* threads are sampled once the owner wishes it */
	struct engine_aside aside;
	uint64_t period_ns, max_pause_ns;

	uint64_t tick_ns, before_ns; /* when this tick began, and the one before */
	uint64_t number; /* of this tick */
	uint64_t first_stop_ns, last_stop_ns;
	size_t asked; /* threads that have not answered */
	unsigned regs_stops; /* blocked threads asked to stop in this tick */
	uint64_t idle_told_ns, owner_asked_ns;
	uint64_t quiet_until_ns; /* another tracer is there */
	uint64_t exec_checked_ns;

	struct suspend_stats stats;
	struct suspend_times pause, stop, copy, spread;
	uint64_t samples, lost;
	bool pushed; /* something is in the queue since the owner took this back */
};

/* `t`: zero but for the borrowed parts and options. */
int suspend_tick_init(struct suspend_tick *t, struct err *err);
void suspend_tick_done(struct suspend_tick *t);

/* Looks at all threads and asks those that run to stop. */
void suspend_tick_begin(struct suspend_tick *t, uint64_t now_ns);
/* Takes an answer. False: the thread could not be let go now, and answers again. */
bool suspend_tick_answer(struct suspend_tick *t, const struct ptrace_stop_event *e);

/* Everything that is still held back goes into the queue. */
void suspend_tick_flush(struct suspend_tick *t);

#endif
