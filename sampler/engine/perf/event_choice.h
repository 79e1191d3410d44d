#ifndef JS_ENGINE_EVENT_CHOICE_H
#define JS_ENGINE_EVENT_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc;

/*
 * Whether events are on CPUs or on threads, where both are possible. An event on a CPU costs nothing at context
 * switches but finds the target running by chance: on a machine with other work, the number of samples varies like
 * that of a binomial distribution, and is a few percent too high. Events on threads count exactly these threads' CPU
 * time (to 0.3 %) and cost about 0.7 us per context switch. So events are on threads if these are few, switch rarely,
 * and no new ones start (perf_policy.c). Zero-initialise.
 */
struct event_choice {
	bool refused; /* only CPUs are possible */
	bool by_thread; /* the present choice */
	uint64_t run_ns, switches; /* of all threads at the last look */
	uint64_t next_ns; /* time of the next look */
};

/* Totals of all threads since they started. */
struct event_load {
	size_t threads, cpus;
	uint64_t run_ns, switches;
};

void event_choice_note(struct event_choice *c, const struct event_load *l);

/* Reads the target's threads from time to time (now_ns: CLOCK_MONOTONIC); returns the choice. */
bool event_choice_poll(struct event_choice *c, struct proc *proc, size_t cpus, uint64_t now_ns);

#endif
