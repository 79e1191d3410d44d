#ifndef JS_ENGINE_PERF_MSG_H
#define JS_ENGINE_PERF_MSG_H

#include <stdint.h>
#include <sys/types.h>

#include "symbolizer/target/regs.h"

/* What the drain thread puts into the queue for the consumer. */
enum perf_msg_kind {
	PERF_MSG_SAMPLE,
	PERF_MSG_THREAD, /* `comm` */
	PERF_MSG_FORK, /* a new thread, name not known yet */
	PERF_MSG_CHILD, /* a new process, `tid` is the PID of the one that started it */
	PERF_MSG_EXIT,
	PERF_MSG_EXEC,
	PERF_MSG_MAPPED,
	PERF_MSG_ENDED, /* struct perf_msg_ended */
};

struct perf_msg {
	uint32_t kind;
	pid_t pid, tid;
	char comm[16];
};

/* What a thread that ended used on one CPU, in the event's unit; `tail`: since its last sample there was due. */
struct perf_msg_ended {
	struct perf_msg head;
	uint64_t counted, tail, time_ns;
};

/* Followed by n_kernel u64 of the kernel call chain, then stack_len bytes of stack, frozen_len of the heap. */
struct perf_msg_sample {
	struct perf_msg head;
	uint8_t has_user, stack_cut;
	uint32_t n_kernel;
	uint64_t time_ns, weight;
	uint64_t stack_addr, stack_len, stack_missing, frozen_len;
	struct regs regs;
};

#endif
