#ifndef JS_HPROF_H
#define JS_HPROF_H

#include <stdint.h>

#include "jvm-bridge/hprof/base/options.h"
#include "jvm-bridge/jvmpi/jvmpi.h"

/*
 * State shared by all parts of the agent. `data` guards every table and the output. It is taken before threads are
 * suspended, so no suspended thread holds it, and released before asking the JVM for anything that may load classes:
 * another thread may be waiting for it in CLASS_LOAD, while it is loading a class that the JVM then needs.
 * OBJECT_FREE takes it as well: the bridge stops no threads for a collection, and first waits for their handlers.
 */
struct hprof {
	JavaVM *vm;
	JVMPI_Interface *jvmpi;
	struct hprof_options options;
	JVMPI_RawMonitor data;
	bool allocs_paused; /* by a command */
	uint32_t file; /* number of the output file, from 1: in the binary format each has one heap dump at most */
	bool ended; /* JVM_SHUT_DOWN's dump is done: nothing is counted or written any more */
};

extern struct hprof hprof;

static inline bool is_binary(void)
{
	return hprof.options.format == FORMAT_BINARY;
}

static inline void data_lock(void)
{
	hprof.jvmpi->RawMonitorEnter(hprof.data);
}

static inline void data_unlock(void)
{
	hprof.jvmpi->RawMonitorExit(hprof.data);
}

/* Prints "HPROF ERROR: ..." on stderr. */
void hprof_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
