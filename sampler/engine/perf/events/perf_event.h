#ifndef JS_ENGINE_PERF_EVENT_H
#define JS_ENGINE_PERF_EVENT_H

#include <stdbool.h>
#include <stdint.h>

struct err;

/* Events by the names that `perf list` prints. */
struct perf_event_spec {
	uint32_t type; /* PERF_TYPE_* */
	uint64_t config;
	bool clock; /* counts ns of CPU time with a kernel timer: PERF_CLOCK_MIN_PERIOD_NS applies */
	bool hardware; /* needs counters that virtual machines often lack */
	bool tracepoint;
	bool user_only; /* ":u": not counted in the kernel */
	char name[64]; /* as requested */
	char unit[64]; /* what one unit of period and weight is: "ns", "cycles", "page-faults" */
};

/*
 * A timer event does not fire more often than every 10,000 ns
 * (perf_swevent_start_hrtimer() in linux/kernel/events/core.c).
 */
enum { PERF_CLOCK_MIN_PERIOD_NS = 10000 };

/* "cpu", a hardware, software or cache event, `subsystem:tracepoint` or rHEX; with ":u" appended, in user mode only.
 * -EINVAL: unknown. */
int perf_event_find(const char *name, struct perf_event_spec *ret, struct err *err);

/* Can this machine count it? 0, or the negative errno of perf_event_open(2), which may also be due to lack of
 * permission. */
int perf_event_try(const struct perf_event_spec *event);

#endif
