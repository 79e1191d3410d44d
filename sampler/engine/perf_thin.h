#ifndef JS_ENGINE_PERF_THIN_H
#define JS_ENGINE_PERF_THIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Keeps one of k samples of each thread. Where the period was made k times smaller so that short-lived threads are
 * seen, all other threads would have more samples than were asked for. The first sample kept of a thread is drawn at
 * random, and then every k-th: the weight of a thread that lasts is right to a sample. Zero-initialise but for `random`.
 */
enum { THIN_THREADS = 1024 };

struct perf_thin {
	struct {
		pid_t tid;
		uint32_t n;
	} threads[THIN_THREADS]; /* by tid; threads that share a place are drawn for anew each time they alternate */
	uint32_t random;
};

/* Whether to keep this sample: the chance is 1 in k. */
bool perf_thin_keep(struct perf_thin *t, pid_t tid, uint32_t k);

/*
 * By what to divide a period of `period_ns`, which is divided by `now` already, when `tail_ns` of `all_ns` was too short
 * for a sample: enough to bring that under 2 %, and never less than `now`. An interrupt costs the target time whether
 * its sample is kept or not, so there are at most 1,000 a second.
 */
uint32_t perf_thin_divisor(uint64_t period_ns, uint32_t now, uint64_t tail_ns, uint64_t all_ns);

#endif
