#ifndef JS_ENGINE_ENGINE_H
#define JS_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/engine_stats.h"
#include "sampler/model/raw_sample.h"

struct budget;
struct err;
struct proc;
struct shared_events;

/*
 * A way to obtain raw samples. Engines: perf (perf/engine_perf.c), suspend (suspend/engine_suspend.c), replay
 * (replay/engine_replay.c). An engine hands samples to a sink; it never unwinds or names.
 */
struct engine;

/* The count of an ended thread, on all CPUs or on one, in the event's unit. Comes before or after its thread_exit(). */
struct engine_ended {
	pid_t pid, tid;
	uint64_t counted;
	/* The part of `counted` that was too short for a sample; 1 if that is not known. */
	uint64_t tail;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	bool late; /* the thread may have had samples before it was counted */
};

/* Receives what an engine delivers, in order, all from the thread that calls run(). Only `sample` must not be NULL. */
struct engine_sink {
	void *ctx;
	void (*sample)(void *ctx, const struct raw_sample *s);
	/* A thread appeared or changed its name (comm, at most 15 bytes). */
	void (*thread)(void *ctx, pid_t pid, pid_t tid, const char *comm);
	void (*thread_exit)(void *ctx, pid_t pid, pid_t tid);
	void (*ended)(void *ctx, const struct engine_ended *e);
	/* What a thread used from its last sample to the end of sampling, in the event's unit. Follows its samples. */
	void (*rest)(void *ctx, pid_t pid, pid_t tid, uint64_t weight);
	/* The target called execve(): its address space is a new one. */
	void (*exec)(void *ctx, pid_t pid);
	/* `parent`, the target or a followed process, has started the process `pid`. */
	void (*child)(void *ctx, pid_t parent, pid_t pid);
	/* Finds a followed process; NULL: unknown. */
	struct proc *(*process)(void *ctx, pid_t pid);
	/* A new executable mapping: the maps should be read again. */
	void (*mapped)(void *ctx, pid_t pid);
	/*
	 * Live engines only: between two samples, again and again. Returns when to call it again at the latest
	 * (CLOCK_MONOTONIC).
	 */
	uint64_t (*turn)(void *ctx);
	/* Live engines only, once: sampling has ended, but earlier samples are still to be delivered. */
	void (*sampled)(void *ctx);
};

/*
 * Frames of a thread that lie in the heap and not on its stack: those of a virtual thread that was parked. The thread
 * does not run between its sample and the return of copy(). Called by the engine's own threads, one at a time.
 */
struct engine_frozen {
	void *ctx;
	bool (*wants)(void *ctx, pid_t tid); /* may this thread have any? NULL: none does */
	/* Bytes written to `dst`; 0: nothing. They become the sample's `frozen`. */
	size_t (*copy)(void *ctx, pid_t tid, uint8_t *dst, size_t max);
};

enum { ENGINE_FROZEN_MAX = 256 << 10 };

static inline bool engine_frozen_wanted(const struct engine_frozen *a, pid_t tid)
{
	return a->wants && a->wants(a->ctx, tid);
}

/* What an engine's owner may ask for a single thread. */
enum engine_request {
	ENGINE_REQUEST_SAMPLE, /* sample it from now on */
	ENGINE_REQUEST_IGNORE, /* leave it alone from now on */
	ENGINE_REQUEST_REGS, /* its stack cannot be walked without registers that its last sample lacked */
};

struct engine_options {
	const char *event; /* "cpu", or a name that 'perf list' prints; "wall": suspend only */
	uint64_t period; /* in the event's unit: ns for cpu */
	bool kernel; /* with kernel call chains */
	uint64_t max_pause_ns; /* suspend: a thread is resumed after this time, whatever has been copied; 0: 2 ms */
	bool follow; /* perf: sample the processes that the target starts, too */
	bool ask_first; /* suspend: leave a thread alone until it is requested; thread() is called for it repeatedly */
	uint32_t stack_bytes; /* size of the stack copy; 0: adaptive */
	struct engine_frozen frozen;
	/*
	 * suspend: threads are stopped by a child process, which first calls this to give up what it does not need.
	 * `socket` is the only socket that it uses. 0 or -errno; with 0, *err may say what it had to keep.
	 */
	int (*confine_tracer)(int socket, struct err *err);
	struct shared_events *shared; /* perf: of several engines; see share(). Borrowed, NULL: none */
	bool starting; /* the target has yet to start and may end soon: data not read at once may be lost */
	struct budget *budget; /* charged for what is kept of the target; borrowed, NULL: no limit */
};

struct engine_ops {
	const char *name;
	int (*open)(struct proc *proc, const struct engine_options *o, struct engine **ret, struct err *err);
	int (*start)(struct engine *e, struct err *err);
	/*
	 * Delivers samples to the sink until stop(), the end of the target, or deadline_ns (CLOCK_MONOTONIC, 0: none),
	 * and returns 0. Before that, sampling ends, queued samples are delivered, and the queue's memory is freed.
	 */
	int (*run)(struct engine *e, const struct engine_sink *sink, uint64_t deadline_ns, struct err *err);
	/* Called by the sink, during run(). NULL: the engine has no use for requests. */
	void (*request)(struct engine *e, pid_t tid, enum engine_request w);
	/* Makes run() return soon. Async-signal-safe, callable from any thread. */
	void (*stop)(struct engine *e);
	struct engine_stats (*stats)(const struct engine *e); /* from any thread */
	bool (*target_ended)(const struct engine *e);
	void (*close)(struct engine *e);
	/*
	 * perf: one set of events on the CPUs for all engines that are opened with it and otherwise the same options:
	 * fewer timer interrupts, the same samples. Before privileges are given up. 0; -errno: not possible here.
	 */
	int (*share)(const struct engine_options *o, struct shared_events **ret, struct err *err);
	void (*unshare)(struct shared_events *s); /* after the engines are closed */
};

struct engine {
	const struct engine_ops *ops;
};

extern const struct engine_ops engine_perf_ops, engine_suspend_ops;

#endif
