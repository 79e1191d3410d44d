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
 * What threads used that ended without a sample. Each CPU tells of a thread's end apart, and a CPU's samples may come later
 * than another's news: so it is decided some time after. Zero-initialise.
 */
enum { TAILS = 512 };
#define TAIL_WAIT_NS UINT64_C(200000000)

struct perf_tails {
	pid_t sampled[THIN_THREADS]; /* threads with a sample, by tid; of two at one place the later one */
	struct {
		pid_t tid;
		uint64_t tail_ns, time_ns;
	} ended[TAILS]; /* a ring */
	uint32_t first, n;
};

void perf_tails_sample(struct perf_tails *t, pid_t tid);
/* A thread ended, with `tail_ns` left over on one CPU. Returns what is decided by now: CPU time of threads without a sample. */
uint64_t perf_tails_ended(struct perf_tails *t, pid_t tid, uint64_t tail_ns, uint64_t now_ns);

/*
 * By what to divide a period of `period_ns`, which is divided by `now` already, when `tail_ns` of `all_ns` was used by threads too
 * short for a sample: enough to bring that under 2 %, and never less than `now`. An interrupt costs the target time whether
 * its sample is kept or not, so there are at most 200 a second.
 */
uint32_t perf_thin_divisor(uint64_t period_ns, uint32_t now, uint64_t tail_ns, uint64_t all_ns);

#endif
