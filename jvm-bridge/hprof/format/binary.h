#ifndef JS_HPROF_BINARY_H
#define JS_HPROF_BINARY_H

#include "jvm-bridge/hprof/base/bytes.h"
#include "jvm-bridge/hprof/tables/heap.h"
#include "jvm-bridge/hprof/tables/sites.h"
#include "jvm-bridge/hprof/tables/table.h"
#include "jvm-bridge/hprof/tables/threads.h"

/*
 * format=b: HPROF's binary format 1.0.2 with 8-byte ids. What a record refers to is written before it, once. Serial
 * numbers of classes, threads and traces, and ids of names and frames, differ from all those in the JVM's own heap
 * dump. All functions: with hprof.data.
 */
enum { RECORD_HEAP_DUMP_SEGMENT = 0x1c, RECORD_HEAP_DUMP_END = 0x2c };

void binary_header(void);
void binary_thread_start(struct java_thread *t);
void binary_thread_end(uint32_t serial);
void binary_class_unloaded(uint32_t serial);
void binary_trace(struct trace *t);
uint64_t binary_name(const char *name); /* returns its id */
uint32_t binary_class(struct class *c); /* returns its serial number; 0: NULL */
/* Writes the class with the id of its object, which has a record in a heap dump */
void binary_class_object(struct class *c);
void binary_cpu_samples(const struct table *table);
void binary_sites(const struct site_table *t, unsigned flags, double cutoff);
void binary_heap_summary(void);
void binary_heap(struct heap *h);

/*
 * Call before a heap dump: readers take one heap dump of a file, or refuse a second one, or add both up. So a second
 * one begins a file of its own, with the header and all live threads. A connection has all of them.
 */
void binary_heap_begin(void);

/* Writes one whole record. */
void binary_record(unsigned tag, const struct bytes *body);

#endif
