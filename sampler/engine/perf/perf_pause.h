#ifndef JS_PERF_PERF_PAUSE_H
#define JS_PERF_PERF_PAUSE_H

#include <stdint.h>
#include <time.h>

/*
 * When a reader of rings works: irregular on purpose, also within a period. If this program's work always followed a
 * sampling interrupt, it would never be sampled itself, or always if in step with the timer, and the targets' share of
 * the CPU would be wrong (by 6 % at 99 Hz, measured).
 */

/* To wait until the next round, from half of most_ms on. `random`: for random_below(). */
struct timespec perf_pause(uint64_t *random, uint32_t most_ms);
/*
 * A ring wakes its reader each time that a quarter of it has been written, read or not, and right after a sample. Its
 * work must not follow that sample at once: this waits for up to a period.
 */
void perf_pause_leave_step(uint64_t *random, uint64_t period_ns);

#endif
