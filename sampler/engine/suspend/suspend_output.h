#ifndef JS_ENGINE_SUSPEND_OUTPUT_H
#define JS_ENGINE_SUSPEND_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/model/raw_sample.h"
#include "symbolizer/target/regs.h"

struct sample_queue;
struct suspend_thread;

/* What the thread that stops others queues for the consumer. */
enum suspend_msg_kind {
	SUSPEND_MSG_SAMPLE, /* struct suspend_msg_sample */
	SUSPEND_MSG_AGAIN, /* `count`, `weight`, `state` */
	SUSPEND_MSG_THREAD, /* a new one */
	SUSPEND_MSG_EXIT,
	SUSPEND_MSG_EXEC,
};

struct suspend_msg {
	uint32_t kind;
	pid_t tid;
	uint32_t state; /* enum thread_state */
	uint32_t count;
	uint64_t weight;
};

/* Followed by stack_len bytes of stack and frozen_len bytes of the heap. */
struct suspend_msg_sample {
	struct suspend_msg head;
	uint64_t time_ns, stack_addr, stack_len, frozen_len;
	uint32_t stack_cut, frozen_asked; /* frozen_asked: copying frames in the heap was requested */
	struct regs regs;
};

/* The queue, and what went through it. Belongs to the thread that fills it. */
struct suspend_output {
	struct sample_queue *queue; /* borrowed */
	bool wall; /* threads that do not run are sampled, too */
	bool pushed; /* something was queued since the owner cleared this */
	uint64_t samples, lost;
	uint64_t again; /* samples of threads that had not run since their previous one */
};

void suspend_output_put(struct suspend_output *o, const struct suspend_msg *m);

/* Room for a sample of up to `len` bytes; NULL: none, and the sample counts as lost. */
struct suspend_msg_sample *suspend_output_reserve(struct suspend_output *o, size_t len);
void suspend_output_commit(struct suspend_output *o, const struct suspend_msg_sample *m);

/*
 * Samples that repeat a thread's last one are queued as one message: with the first that differs, and once a second.
 * This sample is of the tick that began at `ns`, in which the thread had not run (wall only).
 */
void suspend_output_still(struct suspend_output *o, struct suspend_thread *th, enum thread_state state, uint64_t ns);
/* The same for all ticks after th->reported_tick, up to and including `tick`. */
void suspend_output_idle(struct suspend_output *o, struct suspend_thread *th, uint64_t tick, uint64_t ns);
/* Queues the repeated samples that were held back. */
void suspend_output_again(struct suspend_output *o, struct suspend_thread *th);

/* Wall-clock time since the last call for this thread. */
uint64_t suspend_output_elapsed(struct suspend_thread *th, uint64_t now_ns);

#endif
