#ifndef JS_ENGINE_STACK_SIZE_H
#define JS_ENGINE_STACK_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decides how much of the stack the kernel copies. A larger size takes more of the ring, because the kernel reserves
 * it in every record, however little it copies. A smaller size cuts deep stacks, whose rest is read later, while the
 * thread may continue: in a deep recursion, where all frames look alike, the rest can be from another moment without
 * being noticed. So the size starts large, and shrinks if no stack needs it.
 */
struct stack_size {
	uint32_t now, max;
	uint32_t seen, cut; /* recent samples; those whose stack was deeper than its copy */
	uint32_t calm; /* samples since the last decision to keep the size */
	uint64_t deepest; /* bytes used by the deepest of them */
	uint64_t since_ns;
	bool has_grown, stays;
};

/* The sizes to choose from, smallest first. */
const uint32_t *stack_size_all(size_t *n);

/* `first`: 0 means 65,528 bytes. `max`: what the rings have room for. */
void stack_size_init(struct stack_size *s, uint32_t first, uint32_t max);

/* Notes a sample with `used` bytes copied; `cut`: the stack continued. Returns the size to change to; 0: none. */
uint32_t stack_size_note(struct stack_size *s, uint64_t used, bool cut, uint64_t now_ns);

/* The rings had no room. Returns the size to change to, without waiting for more samples; 0: none. */
uint32_t stack_size_lost(const struct stack_size *s);

/* The change was made, or was not possible (`ok` false). */
void stack_size_changed(struct stack_size *s, uint32_t size, bool ok, uint64_t now_ns);

#endif
