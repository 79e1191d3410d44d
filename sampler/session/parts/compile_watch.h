#ifndef JS_SESSION_PARTS_COMPILE_WATCH_H
#define JS_SESSION_PARTS_COMPILE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/session/parts/part.h"

/*
 * How sampled methods are compiled: when each was first seen compiled, and its state in the JVM
 * when that was last read (compile_state.h).
 */
struct compile_watch;

/*
 * Times of compilations count from `start_ns`. `polls_states`: states are also read while sampling,
 * since the target may end at any moment; otherwise only for naming. NULL: out of memory.
 */
struct compile_watch *compile_watch_new(uint64_t start_ns, bool polls_states);
extern const struct part_ops compile_watch_part;

#endif
