#ifndef JS_ENGINE_SUSPEND_LOOK_H
#define JS_ENGINE_SUSPEND_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/engine/suspend/has_run.h"
#include "sampler/engine/suspend/suspend_output.h"
#include "sampler/model/raw_sample.h"

struct suspend_thread;
struct suspend_tick;

/* A look at a thread that is off the CPU, stopped or blocked, and the sample that comes from it. */
struct suspend_look {
	struct has_run_set set;
	struct has_run_account account;
	uint64_t thread_block;
	enum thread_state state;
	bool stopped;
	uint64_t until_ns; /* stopped: when the copy of its stack ends, complete or not */
};

/* Prepares a sample in the queue, with stack and frozen frames, not committed yet. NULL: no room. */
struct suspend_msg_sample *suspend_look_copy(struct suspend_tick *t, const struct suspend_thread *th,
					     const struct suspend_look *l);

/* Updates what is known about the thread. Returns whether this look is a sample. */
bool suspend_look_judge(struct suspend_tick *t, struct suspend_thread *th, const struct suspend_look *l,
			uint64_t *ret_weight, uint64_t now_ns);

void suspend_look_commit(struct suspend_tick *t, struct suspend_thread *th, struct suspend_msg_sample *m,
			 const struct suspend_look *l, uint64_t weight, uint64_t now_ns);

/*
 * After execve() nothing can be read through the old address space. Whether a newly opened one can be read at `sp`
 * tells this from a thread that has unmapped its stack.
 */
void suspend_look_check_exec(struct suspend_tick *t, uint64_t sp, uint64_t now_ns);

/*
 * RUNNING or RUNNABLE, in the proportion in which the thread had a CPU or waited for one since the last look: it is
 * stopped now, and neither HotSpot nor the kernel says what it was doing before.
 */
enum thread_state suspend_look_state(struct suspend_thread *th, const struct has_run_account *before,
				     const struct has_run_account *now);

#endif
