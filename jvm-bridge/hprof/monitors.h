#ifndef JS_HPROF_MONITORS_H
#define JS_HPROF_MONITORS_H

#include "jvm-bridge/hprof/traces.h"

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

/* Handles the six contention events and the two of waiting. Takes hprof.data. */
void monitors_event(const JVMPI_Event *e);
/* Handles a requested OBJECT_ALLOC, which gives an object's class. */
void monitors_object(const JVMPI_Event *e);
/* Handles MONITOR_DUMP. Takes hprof.data. */
void monitors_dumped(const JVMPI_Event *e);
/* Requests a monitor dump and writes it. Without hprof.data. */
void monitors_dump_write(void);

/* With hprof.data. */
struct contention_table contention_table_make(double cutoff);
void contention_table_done(struct contention_table *t);
void contention_clear(void);

#endif
