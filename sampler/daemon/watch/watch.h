#ifndef JS_WATCH_WATCH_H
#define JS_WATCH_WATCH_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolizer/base/budget.h"

struct rules;

/* No bool: another process may have written it. */
struct watch_how {
	uint32_t hz;
	uint32_t suspend; /* 1: threads are stopped one by one, without perf events */
	uint32_t wall; /* 1: waiting threads, too, which takes a process in addition to the one for CPU time */
};

/* Shared with the first process, which trusts nothing in it. */
struct watch_page {
	struct watch_how wanted; /* by a rule, once the target is identified */
	_Atomic uint64_t turns; /* changes at least every 15 s */
	struct budget_pool files; /* what the target may cost; the first process adds to it, and takes away */
};

/*
 * The process that samples one target, and sends what it counts to the keeper (feed.h), one profile for each step of
 * the store. Each target has a process of its own, so a target that harms this process harms no other target. With
 * how.wall, it samples all threads, by elapsed time, as event "wall".
 */
struct watch_options {
	pid_t pid;
	uint64_t start_ticks; /* since boot: the process that was found has this start time */
	int feed; /* socket to the keeper */
	struct watch_how how;
	uint64_t capture_ns; /* ends after this time, and rules do not say how; 0: until the target ends */
	struct rules *rules; /* borrowed */
	const char *boot_id, *host, *user; /* borrowed */
	struct watch_page *page;
};

/* Exit statuses. Another one, or a signal: it failed. */
enum watch_status {
	WATCH_ENDED = 0, /* the target has ended, or SIGTERM has come */
	WATCH_FAILED = 1, /* sampling could not begin; it was logged */
	WATCH_LEFT_OUT = 64, /* a rule leaves the target out */
	WATCH_AGAIN, /* a rule wants another frequency or engine */
	WATCH_NO_KEEPER, /* nobody reads the feed */
	WATCH_EXEC, /* the target has executed another program */
};

/* To be called in a child that has one thread and no descriptors but stdio and the feed. Returns an exit status. */
int watch_run(const struct watch_options *o);

#endif
