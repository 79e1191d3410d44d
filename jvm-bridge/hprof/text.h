#ifndef JS_HPROF_TEXT_H
#define JS_HPROF_TEXT_H

#include "jvm-bridge/hprof/sites.h"
#include "jvm-bridge/hprof/table.h"
#include "jvm-bridge/hprof/threads.h"

enum { TEXT_TIME = 32 };

/* format=a. A trace is written before the first table that has it. All functions: with hprof.data. */
void text_header(void);
double text_percent(uint64_t part, uint64_t whole);
char *text_time(char buffer[TEXT_TIME]); /* as ctime() has it, with the line's end */
void text_trace(struct trace *t);
void text_thread_start(const struct java_thread *t);
void text_thread_end(uint32_t serial);
/* `name` is CPU SAMPLES or CPU TIME (ms); a cost of `unit` is printed as 1. */
void text_cpu(const char *name, const struct table *table, uint64_t unit);
void text_sites(const struct site_table *table);
void text_traces(void); /* all that were not written yet */
/* cpu=old: who called whom how often, the total time of the calls in ms. */
void text_calls(const struct table *table);

#endif
