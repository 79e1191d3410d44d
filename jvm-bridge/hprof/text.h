#ifndef JS_HPROF_TEXT_H
#define JS_HPROF_TEXT_H

#include "jvm-bridge/hprof/table.h"
#include "jvm-bridge/hprof/threads.h"

/* format=a. A trace is written before the first table that has it. All functions: with hprof.data. */
void text_header(void);
void text_thread_start(const struct java_thread *t);
void text_thread_end(uint32_t serial);
/* `name` is CPU SAMPLES or CPU TIME (ms); a cost of `unit` is printed as 1. */
void text_cpu(const char *name, const struct table *table, uint64_t unit);
/* cpu=old: who called whom how often, the total time of the calls in ms. */
void text_calls(const struct table *table);

#endif
