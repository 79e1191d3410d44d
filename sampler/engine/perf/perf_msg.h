#ifndef JS_ENGINE_PERF_MSG_H
#define JS_ENGINE_PERF_MSG_H

#include <stdint.h>
#include <sys/types.h>

#include "sampler/model/raw_sample.h"
#include "symbolizer/target/regs.h"

struct perf_record;

/* The messages in the queue. */
enum perf_msg_kind {
	PERF_MSG_SAMPLE,
	PERF_MSG_THREAD, /* `comm` */
	PERF_MSG_FORK, /* a new thread, name not known yet */
	PERF_MSG_CHILD, /* a new process, `tid` is the PID of the process that started it */
	PERF_MSG_EXIT,
	PERF_MSG_EXEC,
	PERF_MSG_MAPPED,
	PERF_MSG_ENDED, /* struct perf_msg_ended */
	PERF_MSG_REST, /* struct perf_msg_rest */
};

struct perf_msg {
	uint32_t kind;
	pid_t pid, tid;
	char comm[16];
};

/* The count of an ended thread on one CPU, in the event's unit; `tail`: the part after its last sample was due. */
struct perf_msg_ended {
	struct perf_msg head;
	uint64_t counted, tail, time_ns;
	bool late;
};

struct perf_msg_rest {
	struct perf_msg head;
	uint64_t rest; /* see struct engine_sink */
};

/* Followed by n_kernel u64 of the kernel call chain, stack_len bytes of stack, and frozen_len bytes of the heap. */
struct perf_msg_sample {
	struct perf_msg head;
	uint8_t has_user, stack_cut;
	uint32_t n_kernel;
	uint64_t time_ns, weight;
	uint64_t stack_addr, stack_len, stack_missing, frozen_len;
	struct regs regs;
};

/* Registers and stack pointer of the record, if it has them. */
void perf_msg_fill_user(struct perf_msg_sample *m, const struct perf_record *r);
/* The sample of a message that came out of the queue, whose bytes are borrowed. */
struct raw_sample perf_msg_raw(const struct perf_msg_sample *m);

#endif
