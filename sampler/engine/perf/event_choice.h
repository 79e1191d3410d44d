#ifndef JS_ENGINE_EVENT_CHOICE_H
#define JS_ENGINE_EVENT_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc;

/*
 * Whose clock the samples shall come from, where both are possible. An event on a CPU costs nothing at
 * switches, but finds the target running by chance: on a machine that others use the number of samples
 * scatters like a binomial's, and comes out some percent high. Events on the threads count just their
 * CPU time (0.3 % at most), and cost some 0.7 us at each switch of a thread. So: on the threads where
 * they are few and switch seldom, and no new ones start (perf_drain_change.c). Zero-initialise.
 */
struct event_choice {
	bool refused; /* it has to be CPUs */
	bool by_thread; /* the present choice */
	uint64_t run_ns, switches; /* of all threads when it was last looked at */
	uint64_t next_ns; /* time of the next look */
};

/* All threads since they began. */
struct event_load {
	size_t threads, cpus;
	uint64_t run_ns, switches;
};

void event_choice_note(struct event_choice *c, const struct event_load *l);

/* Reads the target's threads now and then (CLOCK_MONOTONIC); returns the choice. */
bool event_choice_look(struct event_choice *c, struct proc *proc, size_t cpus, uint64_t now_ns);

#endif
