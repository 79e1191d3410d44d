#ifndef JS_ENGINE_STACK_REST_H
#define JS_ENGINE_STACK_REST_H

#include <stddef.h>
#include <stdint.h>

struct maps;
struct proc;

/*
 * The outer part of a stack that was too deep for its copy, read from the running process. The
 * thread has gone on since its sample; its outer frames are taken only if they still join on to the
 * copy: STACK_REST_OVERLAP bytes read again must be the same.
 *
 * One thread uses it. Zero-initialise with the process; stack_rest_done().
 */
enum { STACK_REST_OVERLAP = 256, STACK_REST_MAX = 1 << 20 };

struct stack_rest {
	struct proc *proc; /* borrowed */
	struct maps *maps; /* read when first needed, and anew when an address is not in it */
	uint64_t maps_read_ns;
	uint64_t budget, budget_ns; /* bytes that may be read now; as of when */
	uint64_t joined, refused; /* stacks */
};

/* Bytes from `end`, where a copy ended, to the end of the stack's mapping, at most STACK_REST_MAX;
 * 0: there are none, or it is not known. `now_ns`: CLOCK_MONOTONIC. */
size_t stack_rest_wanted(struct stack_rest *r, uint64_t end, uint64_t now_ns);

/*
 * Reads up to `len` bytes from `end` on to `dst`. `copied_end` points behind the copied bytes, of
 * which there are at least STACK_REST_OVERLAP. Returns the bytes read; 0: it does not join on, is
 * unreadable, or too much was read in the last second.
 */
size_t stack_rest_read(struct stack_rest *r, uint64_t end, const uint8_t *copied_end, uint8_t *dst,
		       size_t len, uint64_t now_ns);

void stack_rest_done(struct stack_rest *r);

#endif
