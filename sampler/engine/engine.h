#ifndef JS_ENGINE_ENGINE_H
#define JS_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/suspend_stats.h"
#include "sampler/model/raw_sample.h"

struct budget;
struct err;
struct proc;

/*
 * A way to obtain raw samples. Engines: perf (perf/engine_perf.c), suspend (suspend/engine_suspend.c), replay
 * (replay/engine_replay.c). An engine hands samples to a sink; it never unwinds or names.
 */
struct engine;

/* What a thread that has ended used, in all or on one CPU, in the event's unit. Told before or after its thread_exit(). */
struct engine_ended {
	pid_t pid, tid;
	uint64_t counted;
	/* The part of it that was too short for a sample. Where that is not known, 1 for each thread. */
	uint64_t tail;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
};

/* What the sink is told, in order, all from the thread that calls run(). */
struct engine_sink {
	void *ctx;
	void (*sample)(void *ctx, const struct raw_sample *s);
	/* A thread appeared or changed its name (comm, at most 15 bytes). */
	void (*thread)(void *ctx, pid_t pid, pid_t tid, const char *comm);
	void (*thread_exit)(void *ctx, pid_t pid, pid_t tid);
	void (*ended)(void *ctx, const struct engine_ended *e);
	/* The target called execve: its memory and maps are other ones now. */
	void (*exec)(void *ctx, pid_t pid);
	/* `parent`, the target or one that is followed, has started the process `pid`; NULL: nobody wants to know. */
	void (*child)(void *ctx, pid_t parent, pid_t pid);
	/* The process of one that is followed; NULL: not known. */
	struct proc *(*process)(void *ctx, pid_t pid);
	/* New executable mapping (mmap record): maps should be re-read. */
	void (*mapped)(void *ctx, pid_t pid);
	/* Live engines, once: sampling has ended; what it found until now is still delivered. */
	void (*sampled)(void *ctx);
};

/*
 * What an engine takes of a thread besides its stack, while the thread does not run: between its sample and
 * the end of the call. Called by the engine's own threads, one at a time.
 */
struct engine_aside {
	void *ctx;
	bool (*wants)(void *ctx, pid_t tid); /* is there more of this thread? NULL: of none */
	/* Bytes written to `dst`; 0: nothing. They become the sample's `frozen`. */
	size_t (*take)(void *ctx, pid_t tid, uint8_t *dst, size_t max);
};

enum { ENGINE_ASIDE_MAX = 256 << 10 };

static inline bool engine_aside_wants(const struct engine_aside *a, pid_t tid)
{
	return a->wants && a->wants(a->ctx, tid);
}

/* What the owner of an engine may wish of it, thread by thread. */
enum engine_wish {
	ENGINE_WISH_SAMPLE, /* sampled from now on */
	ENGINE_WISH_LEAVE, /* not touched any more */
	ENGINE_WISH_REGS, /* its last sample lacked registers that its stack cannot be walked without */
};

struct engine_options {
	const char *event; /* "cpu", or a name as perf list has it; "wall": suspend only */
	uint64_t period; /* in the event's unit: ns for cpu */
	bool kernel; /* want kernel call chains */
	uint64_t max_pause_ns; /* suspend: a thread is let go after so long, with what was copied; 0: 2 ms */
	bool follow; /* the processes that the target starts, too (perf) */
	bool ask_first; /* suspend: a thread is left alone until it is wished for; thread() is told of again then */
	uint32_t stack_bytes; /* first size of the stack copy; 0: default, adaptive */
	struct engine_aside aside;
	bool starting; /* the target has yet to start: what of it is not read soon may be gone, as a short program is */
	struct budget *budget; /* of the target's: what is kept of it takes bytes out of it; borrowed, NULL: no limit */
};

struct engine_stats {
	uint64_t samples, lost, throttled; /* lost: by the kernel's rings and by our own queue */
	uint64_t lost_ring, lost_queue;
	uint32_t stack_bytes; /* size of the stack copy now */
	uint64_t followed, brief, refused; /* processes that the target started: struct family */
	uint64_t children; /* of those that are followed, how many run now */
	bool no_kernel; /* kernel chains were asked for but are not permitted */
	/* Each thread is sampled by its own CPU time, from its start: what no sample stands for is known, and not a matter of
	 * chance. skips_kernel: time in the kernel never has a sample. */
	bool by_thread_time, skips_kernel;
	uint64_t lost_weight; /* of lost samples */
	bool only_ended; /* only threads that ended lack samples, whatever the accounts of the others say */
	uint64_t max_sample_rate; /* the kernel's limit when it cut the rate; 0: it did not */
	uint32_t threads; /* attached */
	const char *attachment; /* "thread x cpu events" or "cpu events with filter"; for -v */
	const char *unit; /* of weights: "ns", "cycles", "page-faults", a tracepoint's name; lives as
			   * long as the engine. May be NULL (replay) */
	/* Stacks deeper than their copy; of these, how often the rest was read in time and fitted. */
	uint64_t deep_stacks, deep_joined;
	struct suspend_stats suspend; /* of that engine; all 0 in others */
};

struct engine_ops {
	const char *name;
	int (*open)(struct proc *proc, const struct engine_options *o, struct engine **ret,
		    struct err *err);
	/* Starts sampling. */
	int (*start)(struct engine *e, struct err *err);
	/*
	 * Delivers samples to the sink until stop(), the end of the target (0 is returned in
	 * both cases), or deadline_ns (CLOCK_MONOTONIC, 0: none). Then sampling ends, what is still queued is
	 * delivered, and the queue's memory is given back.
	 */
	int (*run)(struct engine *e, const struct engine_sink *sink, uint64_t deadline_ns,
		   struct err *err);
	/* From within run()'s calls of the sink. NULL: such wishes mean nothing to this engine. */
	void (*wish)(struct engine *e, pid_t tid, enum engine_wish w);
	/* Makes run() return soon. Async-signal-safe, callable from any thread. */
	void (*stop)(struct engine *e);
	struct engine_stats (*stats)(const struct engine *e); /* from any thread */
	bool (*target_ended)(const struct engine *e);
	void (*close)(struct engine *e);
};

struct engine {
	const struct engine_ops *ops;
};

extern const struct engine_ops engine_perf_ops, engine_suspend_ops;

#endif
