#ifndef JS_HOST_STUCK_H
#define JS_HOST_STUCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Does a process of the daemon still get on with its work? What it waits for a CPU does not count: on a machine with
 * hundreds of runnable threads that may be minutes. Begin with stuck_begin(). Times: CLOCK_MONOTONIC.
 */
struct stuck {
	uint64_t done; /* what it had done when stuck_look() was last called */
	uint64_t cpu_ns, looked_ns; /* the CPU time of its main thread when that was last read, and when that was */
	uint64_t since_ns, idle_ns; /* since when nothing was done, and since when no CPU time was used either */
};

/* Its main thread, at a look. */
struct stuck_seen {
	uint64_t cpu_ns, now_ns;
	bool runnable; /* it runs, or waits for a CPU */
};

void stuck_begin(struct stuck *s, uint64_t now_ns);

/*
 * at_work: it has something to do; done: a number that changes with each piece of work. Returns whether the present
 * piece takes too long.
 */
bool stuck_look(struct stuck *s, pid_t pid, bool at_work, uint64_t done, uint64_t now_ns);

/* The same, by what was seen. */
bool stuck_judge(struct stuck *s, bool at_work, uint64_t done, const struct stuck_seen *now);

#endif
