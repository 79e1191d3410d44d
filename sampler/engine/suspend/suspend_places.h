#ifndef JS_ENGINE_SUSPEND_PLACES_H
#define JS_ENGINE_SUSPEND_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/target/regs.h"

struct mem;

/*
 * /proc shows the pc and sp of a blocked thread, but not its frame pointer, without which some native frames cannot
 * be walked. So the frame pointer is remembered when a thread is stopped in such a place. It is the same when the
 * thread blocks there again, if pc, sp, and the frame that it points to are.
 */
enum { SUSPEND_PLACES = 4 };

struct suspend_places {
	struct suspend_place {
		uint64_t pc, sp; /* 0: unused */
		uint64_t fp; /* 0: it points to no frame, and stopping again would not help */
		uint64_t frame[2]; /* that frame: the outer frame pointer, the return address */
	} v[SUSPEND_PLACES];
	unsigned next;
};

/* The thread is stopped with registers `r`; `m`: its memory. */
void suspend_places_keep(struct suspend_places *p, const struct regs *r, struct mem *m);
/* Adds the frame pointer, if it is known. False: stopping the thread there would show more. */
bool suspend_places_complete(const struct suspend_places *p, struct regs *r, struct mem *m);

#endif
