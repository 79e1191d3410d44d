#ifndef JS_ENGINE_STACK_END_H
#define JS_ENGINE_STACK_END_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Where threads' stacks end. The kernel copies on to the end of what is mapped, which is often the
 * memory of something else next to the stack: what lies behind the end need not be kept, and says
 * nothing of how deep stacks are. Zero-initialise; nothing to free.
 */
enum { STACK_END_THREADS = 1024 };

struct stack_ends {
	struct stack_end {
		pid_t tid;
		uint64_t block; /* address of the thread's control block; 0: not known */
	} threads[STACK_END_THREADS]; /* by tid; a collision costs a search */
};

/* Length of the stack in front of and with the head of its control block, from `addr` (a copy of `len`
 * bytes) on; 0: it is not in the copy, or the thread has none. */
size_t stack_end_find(struct stack_ends *e, pid_t tid, uint64_t addr, const uint8_t *bytes,
		      size_t len);

#endif
