#ifndef JS_KEEPER_PROGRAMS_H
#define JS_KEEPER_PROGRAMS_H

#include <stdint.h>

struct store_target;

/* Programs that one process runs in turn, by execve(2). Each is a target of its own in the history. */
struct programs;

struct programs *programs_new(void); /* NULL: out of memory */
void programs_free(struct programs *p);
/*
 * Returns the start, in ticks, under which the history keeps the target (target_id.h). Programs of one process differ
 * in their label `main`. Several thousand processes are remembered; the least recently used ones are forgotten first.
 */
uint64_t programs_start(struct programs *p, const struct store_target *t);

#endif
