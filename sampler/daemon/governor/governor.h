#ifndef JS_GOVERNOR_GOVERNOR_H
#define JS_GOVERNOR_GOVERNOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Keeps the daemon's own CPU time under a limit, by how often each target is sampled. The host's events go on at one base
 * rate; a target has a divisor, and every so manieth sample of it is taken. The governor judges means of GOVERNOR_WINDOW_NS:
 *
 *   above the limit                the costliest targets get twice their divisor, until what is left is 4/5 of the limit
 *   below half of the limit        targets get half their divisor, as long as they are expected to stay below the 4/5
 *   above four times the limit     as above the limit, but after two seconds
 *
 * After a change, a window begins anew, so that each is judged by itself. A target that has to be lowered again soon after it was
 * raised waits twice as long until it is raised the next time. A state machine without clocks, threads and processes.
 */
struct governor;

#define GOVERNOR_WINDOW_NS UINT64_C(10000000000)

struct governor_options {
	uint32_t base_hz; /* of the host's events */
	uint32_t floor_hz; /* no target is sampled less often */
	uint64_t cpu_limit; /* in millionths of a core */
};

struct governor_change {
	uint64_t target;
	uint32_t from, to; /* divisors */
	uint64_t own_cpu; /* that it was made for, in millionths of a core */
};

struct governor *governor_new(const struct governor_options *o); /* NULL: out of memory */
void governor_free(struct governor *g);

/*
 * A target, under a number of the caller's, at most as often as wanted_hz (0: base_hz). Its divisor; 0: out of memory. It is the smallest
 * that keeps to that, but a target is never below the floor because of it.
 */
uint32_t governor_add(struct governor *g, uint64_t target, uint32_t wanted_hz);
void governor_remove(struct governor *g, uint64_t target);

/* What the target has cost so far: CPU time of the daemon that its samples, and naming them, have taken. */
void governor_cost(struct governor *g, uint64_t target, uint64_t cpu_ns);

/*
 * About once a second: the time (CLOCK_MONOTONIC), and the CPU time of all processes of the daemon so far. change() is called for each
 * divisor to be changed; it must not add or remove targets. If the CPU time is less than the last time, a process of the daemon was started
 * again, and a window begins anew.
 */
void governor_step(struct governor *g, uint64_t now_ns, uint64_t own_cpu_ns,
		   void (*change)(void *ctx, const struct governor_change *c), void *ctx);

struct governor_state {
	uint64_t own_cpu; /* in millionths of a core, of the last window; 0: none is complete */
	size_t targets, lowered; /* with another divisor than they would like */
	bool helpless; /* above the limit, and every target that costs anything is at the floor */
};
struct governor_state governor_state(const struct governor *g);

#endif
