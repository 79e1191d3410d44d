#ifndef JS_HPROF_TEXT_MONITORS_H
#define JS_HPROF_TEXT_MONITORS_H

#include "jvm-bridge/hprof/monitors.h"

/* What monitor=y prints. All functions: with hprof.data. */
void text_monitor_time(const struct contention_table *t);

/* WAIT and WAITED; an id of NULL: Thread.sleep(). */
void text_wait(const struct class *class, jobjectID id, bool waited, long long ms, uint32_t thread);

void text_monitor_dump(const JVMPI_Event *e, struct class *(*class_of_object)(jobjectID id));

#endif
