#ifndef JS_ENGINE_SUSPEND_THREADS_H
#define JS_ENGINE_SUSPEND_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/suspend/has_run.h"
#include "sampler/engine/suspend/suspend_places.h"
#include "sampler/model/raw_sample.h"
#include "symbolizer/base/map.h"

struct proc;

/*
 * The threads of the target as the suspend engine knows them, and what /proc says of one. Belongs to
 * the thread that traces.
 */
struct suspend_thread {
	pid_t tid;
	size_t at; /* in all[] */
	int account_fd; /* schedstat; -1: opened each time */
	int position_fd; /* syscall; while it is awake and there are descriptors; -1: not open */
	struct has_run_account now; /* as of this tick, if `read` */
	bool read;
	bool left, was_sampled; /* not to be sampled (engine_wish); not for the first time */
	uint64_t tell_ns; /* the owner is asked about it again; engine_options.ask_first */
	/* As of the last look. `off_cpu`: it was off the CPU then, so that while its account stays as it is
	 * it has not run since. */
	struct has_run_look look;
	bool looked, off_cpu, asleep;
	uint64_t counted_ns; /* CPU time that samples stand for so far */
	uint64_t last_ns; /* until when its wall-clock time is told */
	double share; /* of running, that has not been told yet; see suspend_look_label() */
	bool sampled; /* there is a sample that `again` can repeat */
	enum thread_state state; /* of that sample */
	uint32_t still; /* ticks in a row without having run */
	uint64_t told_tick; /* idle: up to which tick `again` counts */
	uint32_t again; /* ticks since then without having run */
	enum thread_state again_state;
	uint64_t again_ns, again_since_ns;
	bool tracing; /* asked to stop, has not answered */
	bool wants_regs; /* its stack cannot be walked without them */
	bool only_regs; /* it was asked to stop for them alone */
	int64_t call; /* as of the last look: that it is blocked in; negative: in none */
	struct regs call_regs;
	struct suspend_places places;
	uint64_t asked_ns, asked_tick;
	bool listed;
	UT_hash_handle hh;
};

/* all[0] to all[n_awake - 1] are looked at in every tick; the others are idle (suspend_idle.h). */
struct suspend_threads {
	struct proc *proc; /* borrowed */
	struct suspend_thread *by_tid;
	struct suspend_thread **all;
	size_t n, n_awake, cap, n_left;
	size_t fds, max_fds;
	uint64_t listed_ns, list_cost_ns;
	int task_fd; /* /proc/PID/task */
	uint64_t links; /* of it when it was listed: one a thread, and two */
};

void suspend_threads_init(struct suspend_threads *t, struct proc *proc);
void suspend_threads_done(struct suspend_threads *t);

/* Called for each thread that is new, and for each that is gone (freed afterwards). */
typedef void suspend_thread_fn(void *ctx, struct suspend_thread *t);

/* Lists the threads again when their number has changed, or as often as costs next to nothing. */
void suspend_threads_refresh(struct suspend_threads *t, uint64_t now_ns, suspend_thread_fn *added,
			     suspend_thread_fn *gone, void *ctx);
struct suspend_thread *suspend_threads_find(struct suspend_threads *t, pid_t tid); /* NULL: unknown */
void suspend_threads_drop(struct suspend_threads *t, struct suspend_thread *th);
/* A thread is known to be gone, or there may be one that is not known. */
void suspend_threads_relist(struct suspend_threads *t);

/* An awake thread becomes idle: the first of those. The last awake one takes its place. */
void suspend_threads_sleep(struct suspend_threads *t, struct suspend_thread *th);
/* An idle thread becomes awake: the last of those. The first idle one takes its place. */
void suspend_threads_wake(struct suspend_threads *t, struct suspend_thread *th);

/* -ESRCH: gone. */
int suspend_thread_account(struct suspend_threads *t, struct suspend_thread *th,
			   struct has_run_account *ret);
char suspend_thread_state(struct suspend_threads *t, pid_t tid); /* as in proc(5); 0: gone */

/* Does this descriptor of the target's lead to a socket? Not known: true. */
bool suspend_threads_is_socket(struct suspend_threads *t, int fd);

/* Where a blocked thread is. -EAGAIN: it runs; -ESRCH: gone. */
int suspend_thread_position(struct suspend_threads *t, struct suspend_thread *th, struct has_run_set *ret);

/* Is there a signal that this thread is about to take, or may take? */
bool suspend_thread_signalled(struct suspend_threads *t, pid_t tid);

/* Who traces the thread; 0: nobody. */
pid_t suspend_thread_tracer(struct proc *p, pid_t tid);

#endif
