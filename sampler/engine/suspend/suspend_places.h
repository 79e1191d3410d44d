#ifndef JS_ENGINE_SUSPEND_PLACES_H
#define JS_ENGINE_SUSPEND_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/target/regs.h"

struct mem;

/*
 * Of a blocked thread /proc tells pc and sp, but not the frame pointer, without which some native frames cannot
 * be walked. A thread that was stopped once in such a place has it at its next look in the same place: with
 * pc and sp equal, and the frame that it points to as it was, it is the same.
 */
enum { SUSPEND_PLACES = 4 };

struct suspend_places {
	struct suspend_place {
		uint64_t pc, sp; /* 0: unused */
		uint64_t fp; /* 0: it points to no frame, stopping there once more would be no use */
		uint64_t frame[2]; /* what it points to: the outer frame pointer, the return address */
	} v[SUSPEND_PLACES];
	unsigned next;
};

/* The thread is stopped with `r`; `m`: its memory. */
void suspend_places_keep(struct suspend_places *p, const struct regs *r, struct mem *m);
/* Adds to the registers of a look what is known of its place. False: stopping it there would tell more. */
bool suspend_places_complete(const struct suspend_places *p, struct regs *r, struct mem *m);

#endif
