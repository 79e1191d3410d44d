#ifndef JS_SESSION_PARTS_UNSAMPLED_H
#define JS_SESSION_PARTS_UNSAMPLED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/session/parts/part.h"

struct engine_ended;
struct proc;
struct profile;

/*
 * CPU time without samples. If each thread is sampled by its own CPU time
 * (engine_stats.by_thread_time), it is known exactly: the CPU time of the process minus the weights
 * of its samples. What is known of each thread tells under which name it is shown, and why there
 * was no sample: the time was too short for one, or was spent in the kernel while that is not
 * sampled.
 */
struct unsampled;

struct unsampled_sums {
	uint64_t cpu_ns; /* used by the process, from unsampled_start() to unsampled_finish() */
	uint64_t sampled_ns, lost_ns; /* weights of the samples; of lost ones */
	bool skips_kernel, only_ended; /* as in engine_stats */
};

/* NULL: out of memory. `proc` is borrowed. */
struct unsampled *unsampled_new(struct proc *proc, uint64_t period_ns);
void unsampled_free(struct unsampled *u);
extern const struct part_ops unsampled_part; /* counted: unsampled_sample(); close: unsampled_free() */

void unsampled_start(struct unsampled *u);
/* A sample was counted with the stack of that number in the profile. */
void unsampled_sample(struct unsampled *u, pid_t tid, uint64_t weight, uint32_t stack, uint64_t time_ns);
/* A thread has ended: its leftover goes to one of its samples in the profile (leftover.h). */
void unsampled_ended(struct unsampled *u, const struct engine_ended *e, struct profile *p, pid_t pid);
/* CPU time of all threads that have ended. */
uint64_t unsampled_counted(const struct unsampled *u);
/* Sampling has ended: reads the accounts of the threads that still run. */
void unsampled_finish(struct unsampled *u);

/*
 * When all samples are counted: adds leftovers, and the missing time if it is more than 1 % of the
 * CPU time.
 */
void unsampled_give(struct unsampled *u, const struct unsampled_sums *sums, struct profile *p, pid_t pid);

#endif
