#ifndef JS_ENGINE_SUSPEND_LOOK_H
#define JS_ENGINE_SUSPEND_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/engine/suspend/has_run.h"
#include "sampler/engine/suspend/suspend_msg.h"
#include "sampler/model/raw_sample.h"

struct suspend_thread;
struct suspend_tick;

/* One look at a thread that is off the CPU, stopped or blocked, and the sample that it makes. */
struct suspend_look {
	struct has_run_set set;
	struct has_run_account account;
	uint64_t thread_block;
	enum thread_state state;
	bool stopped;
	uint64_t until_ns; /* stopped: the copy of its stack ends by then, with what there is */
};

/* Room in the queue with the stack, and what else belongs to it, uncommitted. NULL: no room, or nothing to read. */
struct suspend_msg_sample *suspend_look_copy(struct suspend_tick *t, const struct suspend_thread *th,
					     const struct suspend_look *l);

/* What the look says of the thread; true: this look is a sample. */
bool suspend_look_judge(struct suspend_tick *t, struct suspend_thread *th, const struct suspend_look *l,
			uint64_t *ret_weight, uint64_t now_ns);

void suspend_look_commit(struct suspend_tick *t, struct suspend_thread *th, struct suspend_msg_sample *m,
			 const struct suspend_look *l, uint64_t weight, uint64_t now_ns);

/*
 * All memory of the old image is gone at once with an execve(); what a new one reads at the same place
 * tells it from a thread that has just lost its stack.
 */
void suspend_look_check_exec(struct suspend_tick *t, uint64_t sp, uint64_t now_ns);

/*
 * A thread that had a CPU part of the time was found running as often as that: HotSpot and the kernel
 * do not tell which it was at this moment (being stopped, it is neither).
 */
enum thread_state suspend_look_label(struct suspend_thread *th, const struct has_run_account *before,
				     const struct has_run_account *now);

#endif
