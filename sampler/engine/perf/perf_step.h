#ifndef JS_ENGINE_PERF_STEP_H
#define JS_ENGINE_PERF_STEP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * CPU time that this program uses in step with the samples. Events on CPUs count elapsed time, and a reader that
 * always runs right after a sample of the target is never sampled itself: its time would count as the target's, 0.3
 * to 1 % at 99 Hz, ten times that at 999 Hz. So it is subtracted from the weight of the next sample. One per CPU.
 * Zero-initialise.
 */
struct perf_steps {
	uint64_t hit_ns; /* time of the last sample of an event on the CPU; 0: none yet */
	uint64_t own_ns; /* CPU time since then of the reader and the threads that it woke */
	uint64_t reader_ns; /* the reader's CPU clock when it last went to sleep */
	bool open; /* there has been a sample since then */
};

/* Notes a sample of the event on the CPU. Returns its weight in CPU time, at most `period_ns`. */
uint64_t perf_step_weight(struct perf_steps *s, uint64_t time_ns, uint64_t period_ns);

/* Another thread woken by the last sample has used this CPU. */
void perf_step_add(struct perf_steps *s, uint64_t used_ns);

/* The ring's reader is about to sleep. */
void perf_step_end(struct perf_steps *s, uint64_t reader_cpu_ns);

#endif
