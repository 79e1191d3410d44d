#ifndef JS_KEEPER_PROGRAMS_H
#define JS_KEEPER_PROGRAMS_H

#include <stdint.h>

struct store_target;

/* Programs that one process runs one after the other, by execve(2): the history has each as a target of its own. */
struct programs;

struct programs *programs_new(void); /* NULL: out of memory */
void programs_free(struct programs *p);
/*
 * The start time, in ticks, that the history is to name the target by. It is that of the process for the first program, which is known
 * by its label `main`, and t->since_ns for each later one, since the kernel does not say when a program began. Of several thousand
 * processes, those that were asked for longest ago are forgotten.
 */
uint64_t programs_start(struct programs *p, const struct store_target *t);

#endif
