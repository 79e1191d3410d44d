#ifndef JS_HPROF_MONITOR_EVENTS_H
#define JS_HPROF_MONITOR_EVENTS_H

#include "jvm-bridge/jvmpi/jvmpi.h"

/* Handles the six contention events and the two of waiting. Takes hprof.data. */
void monitors_event(const JVMPI_Event *e);
/* Handles MONITOR_DUMP. Takes hprof.data. */
void monitors_dumped(const JVMPI_Event *e);
/* Requests a monitor dump and writes it. Without hprof.data. */
void monitors_dump_write(void);

#endif
