#ifndef JS_SESSION_PARTS_COMPILE_WATCH_H
#define JS_SESSION_PARTS_COMPILE_WATCH_H

#include <stdint.h>

#include "sampler/session/parts/part.h"

/*
 * How sampled methods are compiled: when each was first seen compiled, and its state in the JVM
 * when that was last read (compile_state.h).
 */
struct compile_watch;

/* When states are read, which takes 10 us for each method. */
enum compile_reading {
	COMPILE_READ_NAMED, /* to name methods: of all */
	COMPILE_READ_POLLED, /* every second, too, since the target may end at any moment */
	/* Where methods are named again and again: each time of those with interpreted samples, and of a few others. */
	COMPILE_READ_SPARING,
};

/* Times of compilations count from `start_ns`. NULL: out of memory. */
struct compile_watch *compile_watch_new(uint64_t start_ns, enum compile_reading reading);
extern const struct part_ops compile_watch_part;

#endif
