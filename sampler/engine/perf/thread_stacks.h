#ifndef JS_ENGINE_THREAD_STACKS_H
#define JS_ENGINE_THREAD_STACKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Sizes of the stack copy for single threads, where events are on threads: smaller than the common one
 * (stack_size.h), which the deepest thread of all decides, a compiler's as a rule. It saves the target
 * 3 to 6 us a sample of a 7 KB stack against copies of 64 KiB (docs/measurements.md): the record stays in the
 * cache, and the kernel does not run into the guard page behind the stack. Chosen from few samples, so a
 * thread's first cut stack takes all sizes back, and its own for ever. Zero-initialise; nothing to free.
 */
enum { THREAD_STACKS = 1024 };

struct thread_stacks {
	struct thread_stack {
		pid_t tid;
		uint32_t size; /* 0: the common one */
		uint32_t seen, needed; /* samples of this window, and until it decides */
		uint64_t deepest, shallowest; /* bytes used by the stacks of this window */
		bool stays; /* at the common size */
	} threads[THREAD_STACKS]; /* by tid; of two with the same place the later one is known */
	uint64_t next_ns, pause_ns; /* when sizes may shrink, and how long not again then */
};

struct stack_use {
	pid_t tid;
	uint32_t copy; /* the kernel's room for it: what was asked for, or what fits into a record with the rest */
	uint64_t used; /* bytes of it */
	bool cut; /* and the stack went on */
};

/* Is that copy of a thread's own size? Those are smaller by a quarter at least. */
static inline bool thread_stacks_is_own(const struct stack_use *u, uint32_t common)
{
	return u->copy <= common / 4 * 3;
}

/* A sample came. Returns whether events should be opened again, with what thread_stacks_size() says then. */
bool thread_stacks_note(struct thread_stacks *s, const struct stack_use *u, uint32_t common, uint64_t now_ns);

uint32_t thread_stacks_size(const struct thread_stacks *s, pid_t tid, uint32_t common);

void thread_stacks_forget(struct thread_stacks *s, pid_t tid); /* it ended */

#endif
