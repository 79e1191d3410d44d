#ifndef JS_ENGINE_STACK_REST_H
#define JS_ENGINE_STACK_REST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/perf/copies/thread_stats.h"

struct budget;
struct maps;
struct proc;

/*
 * Reads from the running process the outer part of a stack that was too deep for its copy. The thread may have moved
 * on since its sample, and in a recursion the outer frames of another moment would fit to the last byte. So the rest
 * is used only if the whole copied part, including the leaf, reads the same again within STACK_REST_AGE_NS, too short
 * a time for a thread to return to the very same state. In a system call STACK_REST_RESULT bytes may differ, within a
 * tenth of that time.
 *
 * For one thread at a time. Zero-initialise all but the process; free with stack_rest_done().
 */
enum {
	STACK_REST_MIN = 256,
	STACK_REST_MAX = 4 << 20,
	STACK_REST_COPY_MAX = 65536,
	STACK_REST_RESULT = 512,
	STACK_REST_TOUCH = 64
};
#define STACK_REST_AGE_NS UINT64_C(2000000)

struct stack_rest {
	struct proc *proc; /* borrowed */
	struct budget *memory; /* charged for `maps`; borrowed, NULL: no limit */
	struct maps *maps; /* read when first needed, and again when an address is missing */
	uint64_t maps_read_ns, maps_pause_ns, maps_spent_ns; /* when read; pause until the next reading; total time */
	uint64_t budget, budget_ns; /* bytes that may be read, as of budget_ns */
	uint8_t *again; /* STACK_REST_COPY_MAX bytes, allocated when first needed */
	int mem_fd; /* /proc/PID/mem, opened when first needed */
	bool mem_open;
	struct thread_stats cpus;
};

/* The part that was copied at the moment of the sample. */
struct stack_copy {
	uint64_t addr;
	const uint8_t *bytes;
	size_t len; /* at most STACK_REST_COPY_MAX */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	/* The sample was taken in the kernel, which may still have written a result next to the leaf. */
	bool in_kernel;
};

/* Bytes from `end` of a copy to the end of the stack's mapping. STACK_REST_UNKNOWN: the mapping is new, and it is too
 * early to read the maps again. `now_ns`: CLOCK_MONOTONIC. */
#define STACK_REST_UNKNOWN UINT64_MAX
uint64_t stack_rest_beyond(struct stack_rest *r, uint64_t end, uint64_t now_ns);

/*
 * Reads up to `len` bytes (STACK_REST_MAX at most) beyond the end of the copy into `dst`. Returns the number of
 * bytes; 0: the thread has moved on, the stack cannot be read, or too much was read in the last second.
 */
size_t stack_rest_read(struct stack_rest *r, const struct stack_copy *copy, uint8_t *dst, size_t len, uint64_t now_ns);

/* Does the whole copy still read the same, by the rules at struct stack_rest? */
bool stack_rest_same(struct stack_rest *r, const struct stack_copy *copy, uint64_t now_ns);

/*
 * Makes stack pages present, so that the kernel can copy them in later samples: reads one byte of each page from
 * `from` on, STACK_REST_TOUCH pages at most. A page that a large frame skipped was never touched, and the kernel's
 * copy ends there. The target does not notice: such a page reads as zeros and takes no memory.
 */
void stack_rest_touch(struct stack_rest *r, uint64_t from, uint64_t len, uint64_t now_ns);

void stack_rest_exec(struct stack_rest *r); /* the process has a new address space */
void stack_rest_done(struct stack_rest *r);

/*
 * Where threads' stacks end. The kernel copies up to the end of the mapping, which may contain other memory beyond
 * the stack: that need not be kept, and says nothing about the stack's depth. Zero-initialise; nothing to free.
 */
enum { STACK_END_THREADS = 1024 };

struct stack_ends {
	struct stack_end {
		pid_t tid;
		uint64_t block; /* address of the thread's control block; 0: not known */
	} threads[STACK_END_THREADS]; /* by tid; collisions cost a search */
};

/* Length of the stack from `addr` to the end of its control block's head, in a copy of `len`
 * bytes; 0: the block is not in the copy, or the thread has none. */
size_t stack_end_find(struct stack_ends *e, pid_t tid, uint64_t addr, const uint8_t *bytes, size_t len);

#endif
