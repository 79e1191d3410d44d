#ifndef JS_SESSION_UNSAMPLED_H
#define JS_SESSION_UNSAMPLED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct engine_ended;
struct proc;
struct profile;

/*
 * CPU time that no sample stands for. Where threads are sampled by their own CPU time (engine_stats.by_thread_time),
 * that is not left to chance: exactly what the samples' weights lack of the process's CPU time is missing. What is known
 * of each thread says under whose name it is shown, and why there was no sample: the time was too short for one, or was
 * spent in the kernel where that is not sampled.
 */
struct unsampled;

struct unsampled_sums {
	uint64_t cpu_ns; /* used by the process, from unsampled_start() to unsampled_finish() */
	uint64_t sampled_ns, lost_ns; /* weights of the samples; of those that were lost */
	bool skips_kernel, only_ended; /* as in engine_stats */
};

/* NULL: out of memory. `proc` is borrowed. */
struct unsampled *unsampled_new(struct proc *proc, uint64_t period_ns);
void unsampled_free(struct unsampled *u);

void unsampled_start(struct unsampled *u);
/* A sample was counted, under the profile's stack of that number. */
void unsampled_sample(struct unsampled *u, pid_t tid, uint64_t weight, uint32_t stack, uint64_t time_ns);
/* What a thread that was sampled had left over is given to its samples (leftover.h), in the profile. */
void unsampled_ended(struct unsampled *u, const struct engine_ended *e, struct profile *p, pid_t pid);
/* The profile is another one from now on. */
void unsampled_new_profile(struct unsampled *u);
/* What all threads that have ended used. */
uint64_t unsampled_counted(const struct unsampled *u);
/* Sampling has ended: reads the threads that are still there. */
void unsampled_finish(struct unsampled *u);

/* When all samples are counted: adds what is left over, and what is missing, if it is more than 1 % of the CPU time. */
void unsampled_give(struct unsampled *u, const struct unsampled_sums *sums, struct profile *p, pid_t pid);

#endif
