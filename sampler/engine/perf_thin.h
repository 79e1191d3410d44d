#ifndef JS_ENGINE_PERF_THIN_H
#define JS_ENGINE_PERF_THIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * One of k samples of each thread, at random: where the period was made k times smaller so that brief threads are
 * seen, the others would have more samples than were asked for. The first one kept of a thread is drawn, those after
 * it follow at equal distances: a thread that lasts keeps its weight to a sample. Zero-initialise but for `random`.
 */
enum { THIN_THREADS = 1024 };

struct perf_thin {
	struct {
		pid_t tid;
		uint32_t n;
	} threads[THIN_THREADS]; /* by tid; of two with the same place each is drawn for anew */
	uint32_t random;
};

/* Is this sample kept? Each is with a chance of 1 in k. */
bool perf_thin_keep(struct perf_thin *t, pid_t tid, uint32_t k);

/*
 * By how much to divide a period of `period_ns`, divided by `now` already, where `tail_ns` of `all_ns` was too short for
 * a sample: as much as brings that under 2 %, never less than `now`. An interrupt is the target's time whether its
 * sample is kept or not, so there are no more than 1,000 a second.
 */
uint32_t perf_thin_divisor(uint64_t period_ns, uint32_t now, uint64_t tail_ns, uint64_t all_ns);

#endif
