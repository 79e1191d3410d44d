#ifndef JS_TARGET_DEPUTY_H
#define JS_TARGET_DEPUTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_event_attr;

/*
 * Who opens what belongs to other processes once this process may not any more (sampler/broker). While there is none,
 * this process does. Callbacks return a descriptor, the caller's, or -errno, and may be called from any thread.
 */
struct deputy {
	void *ctx;
	/* *ret: a number for the process; *ret_pidfd: the caller's, -1: the kernel has none. 0 or -errno: -EPERM: it is none of this run's. */
	int (*find)(void *ctx, pid_t pid, uint32_t *ret, int *ret_pidfd);
	void (*release)(void *ctx, uint32_t target);
	/* A file of proc(5), of a thread if tid is not 0. "exe": its text instead; "task": the directory; "ns/...": to look at only. */
	int (*file)(void *ctx, uint32_t target, pid_t tid, const char *name);
	int (*descendants)(void *ctx, uint32_t target); /* an array of pid_t */
	int (*mapped)(void *ctx, uint32_t target, uint64_t start); /* what is mapped there */
	int (*path)(void *ctx, uint32_t target, const char *path); /* in the target's root: perf map, debug files */
	int (*host_path)(void *ctx, const char *path); /* of this host: debug files, kernel settings */
	/* perf_event_open(2), with the eBPF program on it, unless that is -1. */
	int (*event)(void *ctx, const struct perf_event_attr *attr, pid_t tid, int cpu, int filter_fd);
	/* A thread of this process: the lowest real-time priority, or a nice value. */
	int (*schedule)(void *ctx, pid_t tid, bool realtime, int nice);
	uint64_t (*cpu_ns)(void *ctx); /* what it has used of the CPUs; 0: not known */
};

/* What this process has opened itself, its deputy may be asked for, too: PERF_TYPE_*, and the event. */
void deputy_note_event(uint32_t type, uint64_t config);
struct deputy_event {
	uint32_t type;
	uint64_t config;
};
enum { DEPUTY_EVENTS = 4 };
const struct deputy_event *deputy_events(size_t *ret_n);

/* For good; *d is copied. Call with one thread. */
void deputy_appoint(const struct deputy *d);
const struct deputy *deputy(void); /* NULL: none */

/* CPU time of this process and its deputy. */
uint64_t deputy_and_own_cpu_ns(void);

#endif
