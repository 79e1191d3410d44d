#ifndef JS_ENGINE_THREAD_STATS_H
#define JS_ENGINE_THREAD_STATS_H

#include <sys/types.h>

struct proc;

/*
 * The CPUs that threads last ran on, from files in /proc. If a deputy (deputy.h) has to open these files, they stay
 * open, because a reader that keeps a CPU from the sampled thread cannot wait for another process. Otherwise they are
 * opened each time. Zero-initialise; not thread-safe.
 */
enum { THREAD_STATS = 256 }; /* files at a time */

struct thread_stats {
	struct thread_stat *files; /* THREAD_STATS of them, allocated when first needed */
};

/* Opens the thread's file if it has to be opened in advance. */
void thread_stats_learn(struct thread_stats *t, struct proc *p, pid_t tid);
int thread_stats_cpu(struct thread_stats *t, struct proc *p, pid_t tid, int *ret); /* 0 or -errno */
void thread_stats_done(struct thread_stats *t);

#endif
