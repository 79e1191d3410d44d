#ifndef JS_HPROF_H
#define JS_HPROF_H

#include "jvm-bridge/hprof/options.h"
#include "jvm-bridge/jvmpi/jvmpi.h"

/*
 * What all parts of the agent share. `data` guards every table and the output. It is taken before threads are suspended,
 * so that no suspended thread holds it, and not held while the JVM is asked for what may load classes: other threads may
 * wait for it then, in CLASS_LOAD, with a class that the JVM wants. OBJECT_FREE takes it, too: the bridge stops no threads
 * in a collection, and waits for their handlers first.
 */
struct hprof {
	JavaVM *vm;
	JVMPI_Interface *jvmpi;
	struct hprof_options options;
	JVMPI_RawMonitor data;
	bool allocs_paused; /* by a command */
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
