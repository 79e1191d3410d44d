#ifndef JS_GOVERNOR_GOVERNOR_H
#define JS_GOVERNOR_GOVERNOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Keeps the daemon's own CPU time below a limit by changing how often targets are sampled. The host's events always run
 * at one base rate; each target has a divisor n, and every n-th sample of it is taken. The governor looks at averages
 * over GOVERNOR_WINDOW_NS:
 *
 *   above the limit                the costliest targets get twice their divisor, until what is left is 4/5 of the limit
 *   below half of the limit        targets get half their divisor, as long as they are expected to stay below the 4/5
 *   above four times the limit     as above the limit, but after two seconds, if targets cost so much
 *   samples were lost              the costliest targets get twice their divisor, until the samples of all are expected to
 *                                  cost half as much; after two seconds, too
 *   none were lost any more        what was done for that is undone, as far as this is expected to stay below the limit
 *
 * Samples are lost when the daemon gets less of the CPUs than it needs, which its own CPU time does not show.
 * After a change a new window begins, so that each change is judged by itself. A target that has to be lowered again
 * soon after it was raised waits twice as long until it is raised the next time. This is a state machine without
 * clocks, threads and processes.
 */
struct governor;

#define GOVERNOR_WINDOW_NS UINT64_C(10000000000)

struct governor_options {
	uint32_t base_hz; /* of the host's events */
	uint32_t floor_hz; /* no target is made to be sampled less often, unless that is wanted */
	uint64_t cpu_limit; /* in millionths of a core */
};

struct governor_change {
	uint64_t target;
	uint32_t from, to; /* divisors */
	uint64_t own_cpu; /* CPU time that caused it, in millionths of a core */
	bool lost; /* it was lowered because samples were lost, and not because of its CPU time; or is raised after that */
};

struct governor *governor_new(const struct governor_options *o); /* NULL: out of memory */
void governor_free(struct governor *g);

/* The divisor with which base_hz comes closest to wanted_hz, and to less rather than more. Neither is 0. */
uint32_t governor_divisor(uint32_t base_hz, uint32_t wanted_hz);

/*
 * Adds a target, under a number chosen by the caller, to be sampled about wanted_hz times a second (0: base_hz), and never
 * more often than with governor_divisor(). Returns its divisor; 0: out of memory.
 */
uint32_t governor_add(struct governor *g, uint64_t target, uint32_t wanted_hz);
/*
 * Something else is wanted for a target now. If it is sampled less often than was wanted, it stays so, as far as the
 * floor allows. Returns its divisor from now on; 0: there is no such target.
 */
uint32_t governor_want(struct governor *g, uint64_t target, uint32_t wanted_hz);
void governor_remove(struct governor *g, uint64_t target);

/* The target's cost so far: the daemon's CPU time for its samples and for naming them. */
void governor_cost(struct governor *g, uint64_t target, uint64_t cpu_ns);

/*
 * Whether governor_step() is to be called. Before a window is over, it is not if no samples were lost and the targets
 * cost less than half of the limit: adding up the CPU time of all processes would be in vain.
 */
bool governor_is_due(const struct governor *g, uint64_t now_ns, uint64_t lost);

/*
 * To be called about once a second if governor_is_due(), with the time (CLOCK_MONOTONIC), the CPU time of all processes of the daemon so
 * far, and the number of samples that were lost so far; neither of the last two ever falls. Calls change() for each
 * divisor to be changed, which must not add or remove targets.
 */
void governor_step(struct governor *g, uint64_t now_ns, uint64_t own_cpu_ns, uint64_t lost,
		   void (*change)(void *ctx, const struct governor_change *c), void *ctx);

struct governor_state {
	uint64_t own_cpu; /* in millionths of a core, over the last window; 0: no window is complete yet */
	size_t targets, lowered; /* sampled less often than wanted */
	size_t starved; /* those of `lowered` that would be sampled more often if no samples had been lost */
	bool helpless; /* above the limit, and every target that costs anything is at the floor */
};
struct governor_state governor_state(const struct governor *g);

#endif
