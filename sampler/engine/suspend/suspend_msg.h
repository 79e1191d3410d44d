#ifndef JS_ENGINE_SUSPEND_MSG_H
#define JS_ENGINE_SUSPEND_MSG_H

#include <stdint.h>
#include <sys/types.h>

#include "symbolizer/target/regs.h"

/* What the thread that stops others puts into the queue for the consumer. */
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

/* Followed by stack_len bytes of stack, frozen_len of the heap. */
struct suspend_msg_sample {
	struct suspend_msg head;
	uint64_t time_ns, stack_addr, stack_len, frozen_len;
	uint64_t stack_cut;
	struct regs regs;
};

/* What the consumer puts into the other queue. */
struct suspend_wish {
	pid_t tid;
	uint32_t what; /* enum engine_wish */
};

#endif
