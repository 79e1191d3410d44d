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
 * The threads of the target, and what the suspend engine and /proc know of each. Belongs to
 * the tracing thread.
 */
struct suspend_thread {
	pid_t tid;
	size_t at; /* index in all[] */
	int account_fd; /* schedstat; -1: opened each time */
	int position_fd; /* syscall; open while the thread is awake, if there are enough descriptors; -1: not open */
	struct has_run_account now; /* as of this tick, if `read` */
	bool read;
	bool left; /* not to be sampled (engine_request) */
	bool was_sampled; /* was sampled before it was left alone */
	uint64_t ask_again_ns; /* when to ask the owner about it again (engine_options.ask_first) */
	/* As of the last look. `off_cpu`: it was off the CPU, so it has not run since if its account is unchanged. */
	struct has_run_look look;
	bool looked, off_cpu, asleep;
	uint64_t counted_ns; /* CPU time that its samples cover so far */
	uint64_t last_ns; /* its samples cover the wall-clock time until then */
	double share; /* of a sample in state RUNNING, carried over; see suspend_look_state() */
	bool sampled; /* has a sample that `again` can repeat */
	enum thread_state state; /* of that sample */
	uint32_t still; /* consecutive ticks without having run */
	uint64_t reported_tick; /* idle: the last tick that `again` counts */
	uint32_t again; /* ticks since then without having run */
	enum thread_state again_state;
	uint64_t again_ns, again_since_ns;
	bool tracing; /* asked to stop, has not answered */
	bool unreleased; /* with `tracing`: it has answered, and could not be released */
	bool has_frozen; /* frames in the heap are copied with its stack */
	bool wants_regs; /* its stack cannot be walked without all registers */
	bool only_regs; /* it was asked to stop for its registers alone */
	int64_t call; /* the system call that it was blocked in at the last look; negative: none */
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
	uint64_t links; /* link count of task_fd when it was listed: one per thread, and two */
};

void suspend_threads_init(struct suspend_threads *t, struct proc *proc);
void suspend_threads_done(struct suspend_threads *t);

/* Called for each thread that is new, and for each that is gone (freed afterwards). */
typedef void suspend_thread_fn(void *ctx, struct suspend_thread *t);

/* Lists the threads again when their number has changed, and from time to time, at almost no cost. */
void suspend_threads_refresh(struct suspend_threads *t, uint64_t now_ns, suspend_thread_fn *added,
			     suspend_thread_fn *gone, void *ctx);
struct suspend_thread *suspend_threads_find(struct suspend_threads *t, pid_t tid); /* NULL: unknown */
void suspend_threads_drop(struct suspend_threads *t, struct suspend_thread *th);
/* Makes the next refresh list the threads: one is gone, or there may be a new one. */
void suspend_threads_relist(struct suspend_threads *t);

/* An awake thread becomes the first idle one. The last awake thread takes its place. */
void suspend_threads_sleep(struct suspend_threads *t, struct suspend_thread *th);
/* An idle thread becomes the last awake one. The first idle thread takes its place. */
void suspend_threads_wake(struct suspend_threads *t, struct suspend_thread *th);

/* -ESRCH: gone. */
int suspend_thread_account(struct suspend_threads *t, struct suspend_thread *th, struct has_run_account *ret);
char suspend_thread_state(struct suspend_threads *t, pid_t tid); /* as in proc(5); 0: gone */

/* Is this descriptor of the target a socket? True if unknown. */
bool suspend_threads_is_socket(struct suspend_threads *t, int fd);

/* Where a blocked thread is. -EAGAIN: it runs; -ESRCH: gone. */
int suspend_thread_position(struct suspend_threads *t, struct suspend_thread *th, struct has_run_set *ret);

/* Is there a signal that this thread is about to take, or may take? */
bool suspend_thread_signalled(struct suspend_threads *t, pid_t tid);

/* The PID of its tracer; 0: none. */
pid_t suspend_thread_tracer(struct proc *p, pid_t tid);

#endif
