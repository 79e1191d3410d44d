#ifndef JS_MODEL_RAW_SAMPLE_H
#define JS_MODEL_RAW_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolizer/target/regs.h"

/*
 * State of a thread when it was sampled; RUNNING for everything that a CPU event delivers. Recordings contain the
 * numbers, so add new states at the end.
 */
enum thread_state {
	THREAD_RUNNING,
	THREAD_RUNNABLE,
	THREAD_SLEEPING,
	THREAD_MONITOR,
	THREAD_WAITING,
	THREAD_PARKED,
	THREAD_NATIVE,
	THREAD_STATES
};

/* In the words of thread dumps, where these have one. */
const char *thread_state_name(enum thread_state state);

/*
 * One observation of one thread, before unwinding. All pointers are borrowed for the duration of
 * the call that hands it over.
 */
struct raw_sample {
	pid_t pid, tid; /* as this program sees them (host) */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t weight; /* in the event's unit (ns of CPU time for `cpu`) */
	enum thread_state state;
	/* Not 0: this many samples in one, of a thread that has not run since its last sample. The stack is
	 * that of the last one; the members below are not set. */
	uint32_t again;

	bool has_user; /* there are regs and a stack (not a kernel thread) */
	struct regs regs;
	uint64_t stack_addr; /* address of stack[0]: the user sp */
	const uint8_t *stack;
	size_t stack_len; /* bytes really copied */
	bool stack_cut; /* the stack continues after the copy */
	/*
	 * Bytes after the copy that belong to the same stack. They must not be read, because their present contents are
	 * those of another moment.
	 */
	uint64_t stack_missing;

	/* Frames of the mounted virtual thread that were in the heap (hs_frozen.h). */
	const uint8_t *frozen;
	size_t frozen_len; /* 0: none, or not copied */

	const uint64_t *kernel; /* kernel call chain, leaf first, without context markers */
	size_t n_kernel;
};

#endif
