#ifndef JS_PERF_PERF_HOLD_H
#define JS_PERF_PERF_HOLD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How long records that were read from rings wait for others. Samples of one process that are walked together need fewer
 * reads of its memory. They do not wait if a process is new, since it may soon end or replace its code, nor if a record
 * is urgent. Zero-initialise. All times are of CLOCK_MONOTONIC.
 */
struct perf_hold {
	_Atomic uint64_t new_ns; /* when a process was last added; set by another thread */
	uint64_t taken_ns; /* when records were last taken */
	uint64_t urgent_ns; /* of the newest urgent record that waits; 0: none */
};

/* A process was added; from any thread. Does that make the pause shorter, which may have begun already? */
bool perf_hold_new(struct perf_hold *h, uint64_t now_ns);
void perf_hold_urgent(struct perf_hold *h, uint64_t time_ns); /* a record of that time is */
bool perf_hold_calm(const struct perf_hold *h, uint64_t now_ns); /* no process is new */
uint32_t perf_hold_pause_ms(const struct perf_hold *h, uint64_t now_ns); /* between two rounds, at most, if one is */
/* May records of that many bytes wait for another round? */
bool perf_hold_may_wait(const struct perf_hold *h, size_t bytes, uint64_t now_ns);
uint64_t perf_hold_left_ns(const struct perf_hold *h, uint64_t now_ns); /* how long they may, if no process is new */
/* The records up to until_ns were taken. */
void perf_hold_taken(struct perf_hold *h, uint64_t until_ns, uint64_t now_ns);

#endif
