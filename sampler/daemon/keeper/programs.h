#ifndef JS_KEEPER_PROGRAMS_H
#define JS_KEEPER_PROGRAMS_H

#include <stdint.h>

struct store_target;

/* Programs that one process runs one after the other, by execve(2): the history has each as a target of its own. */
struct programs;

struct programs *programs_new(void); /* NULL: out of memory */
void programs_free(struct programs *p);
/*
 * Returns the start, in ticks, under which the history keeps the target (target_id.h). Programs of one process differ in their label `main`.
 * Only several thousand processes are remembered; those that were asked for longest ago are forgotten first.
 */
uint64_t programs_start(struct programs *p, const struct store_target *t);

#endif
