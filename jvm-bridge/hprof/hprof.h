#ifndef JS_HPROF_H
#define JS_HPROF_H

#include "jvm-bridge/hprof/options.h"
#include "jvm-bridge/jvmpi/jvmpi.h"

/*
 * What all parts of the agent share. `data` guards every table and the output. It is taken before threads are suspended,
 * so that no suspended thread holds it, and from GC_START to GC_FINISH, so that OBJECT_FREE finds the tables at rest.
 */
struct hprof {
	JVMPI_Interface *jvmpi;
	struct hprof_options options;
	JVMPI_RawMonitor data;
	bool ended; /* after JVM_SHUT_DOWN's dump: nothing is counted or written any more */
};

extern struct hprof hprof;

static inline void data_lock(void)
{
	hprof.jvmpi->RawMonitorEnter(hprof.data);
}

static inline void data_unlock(void)
{
	hprof.jvmpi->RawMonitorExit(hprof.data);
}

/* "HPROF ERROR: ..." on stderr. */
void hprof_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
