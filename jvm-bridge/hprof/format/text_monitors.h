#ifndef JS_HPROF_TEXT_MONITORS_H
#define JS_HPROF_TEXT_MONITORS_H

#include "jvm-bridge/hprof/tables/monitors.h"

/* What monitor=y prints. All functions: with hprof.data. */
void text_monitor_time(const struct contention_table *t);

void text_wait(struct kind monitor, bool waited, long long ms, uint32_t thread);
void text_sleep(long long ms, uint32_t thread);
void text_monitor_dump(const JVMPI_Event *e, struct kind (*kind_of)(jobjectID id));

#endif
