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
	uint64_t done, cpu_ns; /* what it has done, and the CPU time of its main thread, when they last changed */
	uint64_t since_ns, idle_ns; /* since when nothing was done, and since when no CPU time was used either */
	uint64_t looked_ns;
};

void stuck_begin(struct stuck *s, uint64_t now_ns);

/*
 * at_work: it has something to do; done: a number that changes with each piece of work. Returns whether the present
 * piece takes too long.
 */
bool stuck_look(struct stuck *s, pid_t pid, bool at_work, uint64_t done, uint64_t now_ns);

#endif
