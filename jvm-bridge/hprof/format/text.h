#ifndef JS_HPROF_TEXT_H
#define JS_HPROF_TEXT_H

#include "jvm-bridge/hprof/tables/heap.h"
#include "jvm-bridge/hprof/tables/sites.h"
#include "jvm-bridge/hprof/tables/table.h"
#include "jvm-bridge/hprof/tables/threads.h"

enum { TEXT_TIME = 32 };

/* format=a. A trace is written before the first table that refers to it. All functions: with hprof.data. */
void text_header(void);
double text_percent(uint64_t part, uint64_t whole);
char *text_time(char buffer[TEXT_TIME]); /* in ctime()'s format, including the newline */
void text_trace(struct trace *t);
void text_thread_start(const struct java_thread *t);
void text_thread_end(uint32_t serial);
/* `name` is CPU SAMPLES or CPU TIME (ms); costs are printed in multiples of `unit`. */
void text_cpu(const char *name, const struct table *table, uint64_t unit);
void text_sites(const struct site_table *table);
void text_heap(const struct heap *h);
void text_traces(void); /* all that are not yet written */
/* cpu=old: caller, callee, number of calls, total time in ms. */
void text_calls(const struct table *table);

#endif
