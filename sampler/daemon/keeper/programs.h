#ifndef JS_KEEPER_PROGRAMS_H
#define JS_KEEPER_PROGRAMS_H

#include <stdint.h>

struct store_target;

/* Programs that one process runs one after the other, by execve(2): the history has each as a target of its own. */
struct programs;

struct programs *programs_new(void); /* NULL: out of memory */
void programs_free(struct programs *p);
/*
 * The start, in ticks, that the history is to name the target by (target_id.h). Programs are told apart by their label `main`. Of several
 * thousand processes, those that were asked for longest ago are forgotten.
 */
uint64_t programs_start(struct programs *p, const struct store_target *t);

#endif
