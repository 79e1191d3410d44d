#ifndef JS_ENGINE_THREAD_STACKS_H
#define JS_ENGINE_THREAD_STACKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Sizes of the stack copy for single threads, where events are on threads. They are smaller than the common one
 * (stack_size.h), which has to do for the thread with the deepest stacks, usually a compiler's. For a 7 KB stack this saves the
 * target 3 to 6 us per sample compared to copies of 64 KiB (docs/measurements.md): the record stays in the
 * cache, and the kernel does not run into the guard page behind the stack. Sizes are chosen from few samples, so when
 * a stack is cut, all sizes are taken back, and its thread keeps the common one. Zero-initialise; nothing to free.
 */
enum { THREAD_STACKS = 1024 };

struct thread_stacks {
	struct thread_stack {
		pid_t tid;
		uint32_t size; /* 0: the common one */
		uint32_t seen, needed; /* samples of this window, and until it decides */
		uint64_t deepest, shallowest; /* bytes used by the stacks of this window */
		bool stays; /* at the common size */
	} threads[THREAD_STACKS]; /* by tid; the later of two that share an entry */
	uint64_t next_ns, pause_ns; /* when sizes may shrink next, and how long not after that */
};

struct stack_use {
	pid_t tid;
	uint32_t copy; /* the size that was asked for, or less where the record has no room for it */
	uint64_t used; /* bytes of stack in it */
	bool cut; /* the stack went on */
	bool hole; /* it went on, but the copy ended at a page that is not present */
};

/* Has the copy the size of a single thread? Those are smaller by at least a quarter. */
static inline bool thread_stacks_is_own(const struct stack_use *u, uint32_t common)
{
	return u->copy <= common / 4 * 3;
}

/* A sample came. Returns whether events should be opened anew, with what thread_stacks_size() says now. */
bool thread_stacks_note(struct thread_stacks *s, const struct stack_use *u, uint32_t common, uint64_t now_ns);

uint32_t thread_stacks_size(const struct thread_stacks *s, pid_t tid, uint32_t common);

void thread_stacks_forget(struct thread_stacks *s, pid_t tid); /* it ended */

#endif
