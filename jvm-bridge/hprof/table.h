#ifndef JS_HPROF_TABLE_H
#define JS_HPROF_TABLE_H

#include "jvm-bridge/hprof/traces.h"

/* What a CPU or monitor table has: rows by cost, the largest first, equal ones by the trace's serial number. */
struct row {
	struct trace *trace;
	uint64_t cost, count;
};

struct table {
	struct row *rows;
	size_t n; /* with a cost that is at least the cutoff's share of the total */
	uint64_t total; /* of all costs, those that are cut off too */
	bool ok; /* false: out of memory */
};

/* cost_of: what a trace costs. The rows are the caller's, freed by table_done(). With hprof.data. */
struct table table_make(uint64_t (*cost_of)(const struct trace *t), double cutoff);
void table_done(struct table *t);

#endif
