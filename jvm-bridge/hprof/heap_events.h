#ifndef JS_HPROF_HEAP_EVENTS_H
#define JS_HPROF_HEAP_EVENTS_H

#include <stdbool.h>

#include "jvm-bridge/jvmpi/jvmpi.h"

/* Handles HEAP_DUMP: writes the heap dump. Takes hprof.data. */
void heap_dumped(const JVMPI_Event *e);

/*
 * Requests a JVMPI heap dump and writes it. false: no dump; a message has been printed. Without hprof.data: the JVM
 * links classes meanwhile, and a thread that is loading one may be waiting for hprof.data.
 */
bool heap_write(void);

#endif
