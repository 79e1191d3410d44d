#ifndef JS_HPROF_MONITORS_H
#define JS_HPROF_MONITORS_H

#include "jvm-bridge/hprof/tables/traces.h"

/*
 * monitor=y: how long threads wait to enter monitors that others own, in wall time, by the monitor's class and the
 * stack that enters.
 */
struct contention {
	struct link link;
	struct kind kind; /* the monitor's class, if it is a Java monitor */
	const char *raw; /* name of a raw monitor, never freed; NULL: a Java monitor */
	struct trace *trace;
	uint64_t count, ns; /* since the last dump */
};

struct contention_table {
	struct contention **rows; /* largest first */
	size_t n; /* rows with at least the cutoff's share of the total */
	uint64_t total; /* ns */
	bool ok; /* false: out of memory */
};

/* Handles a requested OBJECT_ALLOC, which gives an object's class. */
void monitors_object(const JVMPI_Event *e);
/* The class of a monitor's object; 0: unknown, or a raw monitor. With hprof.data. */
struct kind monitor_kind(jobjectID id);

/* A thread waits for a monitor, and has it; `at`: nanoseconds of CLOCK_MONOTONIC. With hprof.data. */
void contention_enter(const JVMPI_Event *e, bool raw, uint64_t at);
void contention_entered(const JVMPI_Event *e, uint64_t at);

/* With hprof.data. */
struct contention_table contention_table_make(double cutoff);
void contention_table_done(struct contention_table *t);
void contention_clear(void);

#endif
