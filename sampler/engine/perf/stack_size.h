#ifndef JS_ENGINE_STACK_SIZE_H
#define JS_ENGINE_STACK_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Decides how much of the stack the kernel shall copy. The kernel reserves the size in every record
 * whatever it copies, so that a larger one costs ring memory; a smaller one cuts deep stacks, whose
 * rest is then read later, from a thread that goes on running: in a deep recursion, where all
 * frames look alike, that rest can belong to another moment without being noticed. So the largest
 * size comes first, and shrinks where no stack needs it.
 */
struct stack_size {
	uint32_t now, max;
	uint32_t seen, cut; /* recent samples; of those with a deeper stack than was copied */
	uint32_t calm; /* samples since the last decision to keep the size */
	uint64_t deepest; /* bytes used by the deepest of them */
	uint64_t since_ns;
	bool has_grown, stays;
};

/* `first` 0: 65,528 bytes. `max`: what the rings have room for. */
void stack_size_init(struct stack_size *s, uint32_t first, uint32_t max);

/* A sample had `used` bytes copied, `cut`: and the stack went on. Returns the size to change to, or
 * 0. */
uint32_t stack_size_note(struct stack_size *s, uint64_t used, bool cut, uint64_t now_ns);

/* The change was made, or (`ok` false) was not possible. */
void stack_size_changed(struct stack_size *s, uint32_t size, bool ok, uint64_t now_ns);

#endif
