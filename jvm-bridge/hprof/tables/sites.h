#ifndef JS_HPROF_SITES_H
#define JS_HPROF_SITES_H

#include "jvm-bridge/hprof/tables/traces.h"

/* Allocation sites: a class, or arrays of it, by the stack that allocated them. */
struct site {
	struct link link;
	struct kind kind;
	struct trace *trace;
	uint64_t live_bytes, live, bytes, objects; /* live: not known to be freed; the others: all ever allocated */
};

/* A live object whose allocation was seen. */
struct object {
	struct link link; /* by id */
	jobjectID id;
	struct site *site;
	uint32_t size; /* bytes, as reported by the JVM */
};

struct site_totals {
	uint64_t live_bytes, live, bytes, objects;
};

struct site_table {
	struct site **rows; /* largest first */
	size_t n; /* rows with at least the cutoff's share of the total */
	struct site_totals totals;
	bool by_allocated, ok; /* false: out of memory */
};

/* All functions: with hprof.data. */
void sites_object_made(const JVMPI_Event *e, struct trace *trace);
void sites_object_freed(jobjectID id);
const struct object *object_of(jobjectID id); /* NULL: older than the agent, or unknown */
void sites_clear(void); /* resets the counts of what was ever allocated */
struct site_totals sites_totals(void);
uint64_t sites_lost(void); /* objects not recorded for lack of memory */

/* Sorted by live bytes, or by everything allocated. Free the rows with site_table_done(). */
struct site_table site_table_make(double cutoff, bool by_allocated);
void site_table_done(struct site_table *t);

#endif
