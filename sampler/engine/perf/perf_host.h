#ifndef JS_ENGINE_PERF_HOST_H
#define JS_ENGINE_PERF_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct perf_members;
struct raw_sample;

/*
 * Raw samples of many processes from one set of events for the host (host_events.h). A process is sampled if it is a
 * member of the filter (perf_members.h) and watched here. A thread moves records from the rings to a queue, in batches
 * and at irregular times, sorted by process and time. It reads nothing else of the processes: if a stack is deeper than
 * its copy, the rest is missing.
 */
struct perf_host;

struct perf_host_options {
	uint64_t period_ns; /* of CPU time of each CPU */
	bool kernel; /* with kernel call chains */
	uint32_t stack_bytes; /* size of stack copies; 0: adaptive */
};

/* The events are disabled, and there are no members. 0; -errno: not possible here (no eBPF, or not permitted). */
int perf_host_open(const struct perf_host_options *o, struct perf_host **ret, struct err *err);
void perf_host_close(struct perf_host *h);

/* Borrowed; for the process that decides what is sampled. */
struct perf_members *perf_host_members(struct perf_host *h);

/* Starts or stops delivering samples and records of the process. To be called in the thread of perf_host_run(). */
void perf_host_watch(struct perf_host *h, pid_t pid, bool on);

/* Receives samples and records, in the thread of perf_host_run(). */
struct perf_host_sink {
	void *ctx;
	int fd; /* turn() is called when it is readable, too; -1: none */
	/*
	 * The weight is one period of the host's events; the callee multiplies it. stack_missing UINT64_MAX: the copy
	 * ends at the end of the stack, or at a page that is not present.
	 */
	void (*sample)(void *ctx, const struct raw_sample *s);
	void (*thread)(void *ctx, pid_t pid, pid_t tid, const char *comm); /* has a new name */
	void (*thread_exit)(void *ctx, pid_t pid, pid_t tid);
	void (*exec)(void *ctx, pid_t pid); /* earlier samples are delivered before it */
	void (*mapped)(void *ctx, pid_t pid); /* code; also of a process that is not watched, if it is a libjvm.so */
	void (*idle)(void *ctx); /* nothing is left to deliver for now, and the thread is about to wait */
	/* Again and again. Returns when to call it again at the latest (CLOCK_MONOTONIC). */
	uint64_t (*turn)(void *ctx);
};

int perf_host_start(struct perf_host *h, struct err *err); /* enables the events */
void perf_host_run(struct perf_host *h, const struct perf_host_sink *sink); /* until perf_host_stop() */
void perf_host_stop(struct perf_host *h); /* async-signal-safe */

struct perf_host_stats {
	uint64_t samples; /* of processes that are watched */
	uint64_t foreign; /* of others: they arrived late */
	/*
	 * Of threads that were about to leave their CPU for good, and whose process the record does not say: in older kernels
	 * all of these, and now only a process's last thread (__task_pid_nr_ns() in kernel/pid.c; of the others it is the TID
	 * that is missing). They are those of members, since the filter reads the PID elsewhere.
	 */
	uint64_t ended;
	uint64_t lost_ring, lost_queue; /* samples for which there was no room */
	uint64_t lost_records; /* side-band records; at least this many */
	uint64_t malformed;
	uint32_t stack_bytes;
};
struct perf_host_stats perf_host_stats(const struct perf_host *h); /* from any thread */

#endif
