#ifndef JS_PERF_PERF_PAUSE_H
#define JS_PERF_PERF_PAUSE_H

#include <stdint.h>
#include <time.h>

/*
 * When a reader of rings works: at irregular times on purpose, also within a period. If this program always worked
 * right after a sampling interrupt, its own CPU time would never be sampled (or always, in step with the timer), and
 * the targets' share of the CPU would be wrong (by 6 % at 99 Hz).
 */

/* How long to wait until the next round: between half of most_ms and most_ms. `random`: for random_below(). */
struct timespec perf_pause(uint64_t *random, uint32_t most_ms);
/*
 * A ring wakes its reader each time a quarter of it has been written, which is right after a sample. The reader must
 * not work immediately after that sample: this waits for up to a period.
 */
void perf_pause_leave_step(uint64_t *random, uint64_t period_ns);

#endif
