#ifndef JS_ENGINE_THREAD_STACKS_H
#define JS_ENGINE_THREAD_STACKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Stack copy sizes of single threads, where events are on threads. They are smaller than the common size
 * (stack_size.h), which has to suit the thread with the deepest stacks, usually a compiler thread. For a 7 KB stack
 * this saves the target 3 to 6 us per sample compared to copies of 64 KiB (docs/measurements.md): the record stays in
 * the cache, and the kernel does not run into the guard page beyond the stack. Sizes are chosen from few samples, so
 * a cut stack withdraws all sizes, and its thread keeps the common one. Zero-initialise; nothing to free.
 */
enum { THREAD_STACKS = 1024 };

struct thread_stacks {
	struct thread_stack {
		pid_t tid;
		uint32_t size; /* 0: the common one */
		uint32_t seen, needed; /* samples in this window, and how many decide */
		uint64_t deepest, shallowest; /* bytes used by the stacks of this window */
		bool stays; /* keeps the common size */
	} threads[THREAD_STACKS]; /* by tid; of two that share an entry, the later one */
	uint64_t next_ns, pause_ns; /* when sizes may shrink next; the pause after that */
};

struct stack_use {
	pid_t tid;
	uint32_t copy; /* the requested size, or less if the record has no room for it */
	uint64_t used; /* bytes of stack in the copy */
	bool cut; /* the stack continued */
	bool hole; /* the stack continued, but the copy ended at a page that is not present */
};

/* Is the copy of a single thread's size? Those are smaller by at least a quarter. */
static inline bool thread_stacks_is_own(const struct stack_use *u, uint32_t common)
{
	return u->copy <= common / 4 * 3;
}

/* Notes a sample. Returns whether events should be reopened with the sizes that thread_stacks_size() now returns. */
bool thread_stacks_note(struct thread_stacks *s, const struct stack_use *u, uint32_t common, uint64_t now_ns);

uint32_t thread_stacks_size(const struct thread_stacks *s, pid_t tid, uint32_t common);

void thread_stacks_forget(struct thread_stacks *s, pid_t tid); /* it ended */

#endif
