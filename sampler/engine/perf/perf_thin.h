#ifndef JS_ENGINE_PERF_THIN_H
#define JS_ENGINE_PERF_THIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Keeps one in k samples of each thread. If the period is k times smaller so that short-lived threads are sampled,
 * all others would have more samples than requested. The first sample to keep of a thread is chosen at random, and
 * from then on every k-th is kept: the weight of a long-lived thread is exact to one sample. Zero-initialise all but
 * `random`.
 */
enum { THIN_THREADS = 1024 };

struct perf_thin {
	struct {
		pid_t tid;
		uint32_t n;
	} threads[THIN_THREADS]; /* by tid; threads that share an entry are drawn again each time they alternate */
	uint64_t random; /* any seed */
};

/* Whether to keep this sample: the chance is 1 in k. */
bool perf_thin_keep(struct perf_thin *t, pid_t tid, uint32_t k);

/*
 * What threads used that ended without a sample. Each CPU reports a thread's end separately, and samples of one CPU
 * may be read after the report of another, so this is decided TAIL_WAIT_NS later. Zero-initialise.
 */
enum { TAILS = 512 };
#define TAIL_WAIT_NS UINT64_C(200000000)

struct perf_tails {
	pid_t sampled[THIN_THREADS]; /* threads with a sample, by tid; of two that share an entry, the later one */
	struct {
		pid_t tid;
		uint64_t tail_ns, time_ns;
	} ended[TAILS]; /* a ring */
	uint32_t first, n;
};

void perf_tails_sample(struct perf_tails *t, pid_t tid);
/* A thread ended, with `tail_ns` left over on one CPU. Returns the CPU time of threads now known to have no sample. */
uint64_t perf_tails_ended(struct perf_tails *t, pid_t tid, uint64_t tail_ns, uint64_t now_ns);

/*
 * The number by which to divide the period of `period_ns`, currently divided by `now`, if threads too short-lived for
 * a sample used `tail_ns` of `all_ns`: large enough to bring that share below 2 %, and never less than `now`. Each
 * interrupt costs the target time, whether its sample is kept or not, so there are at most 200 per second.
 */
uint32_t perf_thin_divisor(uint64_t period_ns, uint32_t now, uint64_t tail_ns, uint64_t all_ns);

#endif
