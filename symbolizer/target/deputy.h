#ifndef JS_TARGET_DEPUTY_H
#define JS_TARGET_DEPUTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mapping;
struct perf_event_attr;

/* Where to open an event, and how much of the stack its samples copy. */
struct event_place {
	int32_t tid; /* -1: everything on the CPU */
	int32_t cpu;
	uint32_t stack_bytes; /* replaces perf_event_attr.sample_stack_user */
};
enum { EVENT_PLACES_MAX = 16 }; /* for one request; each may take a millisecond to open */

/*
 * A process that opens files of other processes for this one after it has dropped its privileges (sampler/broker).
 * Without a deputy, this process opens them itself. Unless noted otherwise, callbacks return a descriptor that the
 * caller closes, or -errno. Any thread may call them.
 */
struct deputy {
	void *ctx;
	/*
	 * *ret: a number for the process; *ret_pidfd: the caller's, -1: the kernel has none. 0 or -errno; -EPERM: not a
	 * process of this run.
	 */
	int (*find)(void *ctx, pid_t pid, uint32_t *ret, int *ret_pidfd);
	void (*release)(void *ctx, uint32_t target);
	/*
	 * A file of proc(5), of a thread if tid is not 0. For "exe", a file with the link's text; for "task", the
	 * directory; for "ns/...", an O_PATH descriptor.
	 */
	int (*file)(void *ctx, uint32_t target, pid_t tid, const char *name);
	int (*descendants)(void *ctx, uint32_t target); /* content: an array of pid_t */
	int (*mapped)(void *ctx, uint32_t target, const struct mapping *map); /* -ESTALE: another file is there now */
	int (*path)(void *ctx, uint32_t target, const char *path); /* in the target's root: perf map, debug files */
	int (*host_path)(void *ctx, const char *path); /* on this host: debug files, kernel settings */
	/*
	 * perf_event_open(2) of up to EVENT_PLACES_MAX events, in their order, until one fails. Those that are not of a
	 * thread get the eBPF program, unless filter_fd is -1. *ret_opened: how many were opened; their descriptors,
	 * the caller's, are in `fds`. 0, or the -errno of the one that failed.
	 */
	int (*events)(void *ctx, const struct perf_event_attr *attr, const struct event_place *places, size_t n,
		      int filter_fd, int *fds, size_t *ret_opened);
	/* Gives a thread of this process the lowest real-time priority, or a nice value. */
	int (*schedule)(void *ctx, pid_t tid, bool realtime, int nice);
	void (*hurry)(void *ctx); /* from now on, does not wait for slow file systems; any thread may call it */
	uint64_t (*cpu_ns)(void *ctx); /* the deputy's own CPU time; 0: not known */
};

/* The deputy later opens only events (PERF_TYPE_*, config) that this process has opened itself, and noted here. */
void deputy_note_event(uint32_t type, uint64_t config);
struct deputy_event {
	uint32_t type;
	uint64_t config;
};
enum { DEPUTY_EVENTS = 4 };
const struct deputy_event *deputy_events(size_t *ret_n);

/* Permanent; *d is copied. To be called while there is only one thread. */
void deputy_appoint(const struct deputy *d);
const struct deputy *deputy(void); /* NULL: none */

/* CPU time of this process and its deputy. */
uint64_t deputy_and_own_cpu_ns(void);

#endif
