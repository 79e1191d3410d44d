#ifndef JS_ENGINE_STACK_REST_H
#define JS_ENGINE_STACK_REST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget;
struct maps;
struct proc;

/*
 * The outer part of a stack that was too deep for its copy, read from the running process. The thread
 * may have gone on since its sample, and in a recursion the outer frames of another moment fit to the
 * last byte. So the rest is taken only when the whole copied part, leaf and all, reads the same again,
 * and within STACK_REST_AGE_NS: a thread that comes back to the very same state had no time to. Of a
 * sample in a system call STACK_REST_RESULT bytes may differ, within a tenth of that time.
 *
 * One thread at a time uses it. Zero-initialise with the process; stack_rest_done().
 */
enum { STACK_REST_MIN = 256, STACK_REST_MAX = 4 << 20, STACK_REST_COPY_MAX = 65536,
       STACK_REST_RESULT = 512, STACK_REST_TOUCH = 64 };
#define STACK_REST_AGE_NS UINT64_C(2000000)

struct stack_rest {
	struct proc *proc; /* borrowed */
	struct budget *memory; /* what `maps` may take; borrowed, NULL: no limit */
	struct maps *maps; /* read when first needed, and anew when an address is not in it */
	uint64_t maps_read_ns, maps_pause_ns, maps_spent_ns; /* the latter: in all */
	uint64_t budget, budget_ns; /* bytes that may be read now; as of when */
	uint64_t joined, refused; /* stacks */
	uint8_t *again; /* STACK_REST_COPY_MAX bytes, when first needed */
};

/* What was copied at the moment of the sample. */
struct stack_copy {
	uint64_t addr;
	const uint8_t *bytes;
	size_t len; /* at most STACK_REST_COPY_MAX */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	/* Taken in the kernel, which may still write a result next to the leaf before the thread is
	 * interrupted on its way back. */
	bool in_kernel;
};

/* Bytes from `end`, where a copy ended, to the end of the stack's mapping; 0: there are none; STACK_REST_UNKNOWN: the mapping is
 * a new one, and the maps cannot be read yet. `now_ns`: CLOCK_MONOTONIC. */
#define STACK_REST_UNKNOWN UINT64_MAX
uint64_t stack_rest_beyond(struct stack_rest *r, uint64_t end, uint64_t now_ns);

/*
 * Reads up to `len` bytes (STACK_REST_MAX at most) from the end of the copy on to `dst`. Returns the bytes read; 0: the thread
 * has gone on, it is unreadable, or too much was read in the last second.
 */
size_t stack_rest_read(struct stack_rest *r, const struct stack_copy *copy, uint8_t *dst, size_t len,
		       uint64_t now_ns);

/* Does the whole copy still read the same, as stack_rest_read() wants it? */
bool stack_rest_same(struct stack_rest *r, const struct stack_copy *copy, uint64_t now_ns);

/*
 * Makes pages of a stack present, so that the kernel copies them in the samples to come: one byte of each is read, from
 * `from` on, of STACK_REST_TOUCH pages at most. A page that a large frame skipped was never touched, and the kernel's copy
 * ends there. Nothing changes for the target: reading such a page gives zeros and uses no memory.
 */
void stack_rest_touch(struct stack_rest *r, uint64_t from, uint64_t len, uint64_t now_ns);

void stack_rest_exec(struct stack_rest *r); /* the process has another address space now */
void stack_rest_done(struct stack_rest *r);

#endif
