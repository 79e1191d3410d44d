#ifndef JS_HPROF_MONITORS_H
#define JS_HPROF_MONITORS_H

#include "jvm-bridge/hprof/traces.h"

/*
 * monitor=y: how long threads wait to enter monitors that others own, by the clock on the wall, for each class of monitor
 * and the stack that enters.
 */
struct contention {
	struct link link;
	struct kind kind; /* of the monitor, if it is Java's */
	const char *raw; /* its name, which stays; NULL: Java's */
	struct trace *trace;
	uint64_t count, ns; /* since the last dump */
};

struct contention_table {
	struct contention **rows; /* the most first */
	size_t n; /* with at least the cutoff's share of the total */
	uint64_t total; /* ns */
	bool ok; /* false: out of memory */
};

/* The six events of contention and the two of waiting. Takes hprof.data. */
void monitors_event(const JVMPI_Event *e);
/* A requested OBJECT_ALLOC, which tells an object's class. */
void monitors_object(const JVMPI_Event *e);
/* MONITOR_DUMP. Takes hprof.data. */
void monitors_dumped(const JVMPI_Event *e);
/* Asks for a dump and writes it. Without hprof.data. */
void monitors_dump_write(void);

/* With hprof.data. */
struct contention_table contention_table_make(double cutoff);
void contention_table_done(struct contention_table *t);
void contention_clear(void);

#endif
