#ifndef JS_HPROF_TABLE_H
#define JS_HPROF_TABLE_H

#include "jvm-bridge/hprof/tables/traces.h"

/* Rows of a CPU or monitor table by cost, largest first, equal ones by the trace's serial number. */
struct row {
	struct trace *trace;
	uint64_t cost, count;
};

struct table {
	struct row *rows;
	size_t n; /* rows with at least the cutoff's share of the total */
	uint64_t total; /* sum of all costs, including rows below the cutoff */
	bool ok; /* false: out of memory */
};

/* cost_of: the cost of a trace. Free the rows with table_done(). With hprof.data. */
struct table table_make(uint64_t (*cost_of)(const struct trace *t), double cutoff);
void table_done(struct table *t);

#endif
