#ifndef JS_ENGINE_SUSPEND_LOOP_H
#define JS_ENGINE_SUSPEND_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/engine/engine.h"
#include "sampler/engine/suspend_stats.h"

struct err;
struct proc;
struct sample_queue;

/*
 * The thread that stops others: it begins ticks when they are due and takes the threads' answers in between. It is
 * the tracer, so the kernel releases all traced threads when it ends, however it ends.
 */
struct suspend_loop;

struct suspend_loop_stats {
	struct suspend_stats suspend;
	uint64_t samples, lost, threads;
	bool target_ended;
};

/* The queues are borrowed; `requests` is of struct suspend_request. */
int suspend_loop_new(struct proc *proc, struct sample_queue *q, struct sample_queue *requests,
		     const struct engine_options *o, struct suspend_loop **ret, struct err *err);
int suspend_loop_start(struct suspend_loop *l, struct err *err);
void suspend_loop_stop(struct suspend_loop *l); /* async-signal-safe */
bool suspend_loop_done(const struct suspend_loop *l); /* everything is in the queue */
/* Consumer: waits until there may be something in the queue, the loop is done, or `until_ns` (0: no limit). */
void suspend_loop_wait(struct suspend_loop *l, uint64_t until_ns);
struct suspend_loop_stats suspend_loop_stats(struct suspend_loop *l); /* from any thread */
void suspend_loop_close(struct suspend_loop *l); /* stops, joins */

#endif
