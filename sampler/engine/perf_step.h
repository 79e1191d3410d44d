#ifndef JS_ENGINE_PERF_STEP_H
#define JS_ENGINE_PERF_STEP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What this program's own work in step with the samples takes of a CPU. An event on a CPU goes by the clock on the
 * wall. A reader that always runs right behind a sample of the target is never sampled itself, and its time would
 * count as the target's: 0.3 to 1 % at 99 Hz, ten times that at 999 Hz. So the next sample stands for less. One of
 * these for each CPU. Zero-initialise.
 */
struct perf_steps {
	uint64_t hit_ns; /* time of the last sample of an event on the CPU; 0: none yet */
	uint64_t own_ns; /* CPU time of the reader since, in all that it did of this sample */
	uint64_t reader_ns; /* the reader's CPU clock when it was last done */
	bool open; /* there was a sample, and the reader is not done with it */
};

/* A sample of the event on the CPU. Returns its weight, at most `period_ns`: that of an event that goes by CPU time. */
uint64_t perf_step_weight(struct perf_steps *s, uint64_t time_ns, uint64_t period_ns);

/* The ring's own reader is done, and about to sleep. */
void perf_step_end(struct perf_steps *s, uint64_t reader_cpu_ns);

#endif
