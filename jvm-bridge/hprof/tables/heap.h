#ifndef JS_HPROF_HEAP_H
#define JS_HPROF_HEAP_H

#include "jvm-bridge/hprof/tables/heap_read.h"
#include "jvm-bridge/hprof/tables/traces.h"

/* A HEAP_DUMP being written. */
struct heap {
	struct heap_dump dump;
	JNIEnv *env;
	uint64_t objects, bytes; /* totals of its instances, arrays and classes */
	const struct object **made; /* dump.made, while it grows */
	size_t cap_made;
	struct class *object; /* java.lang.Object; NULL: not in the dump */
	struct class
		*primitives[JVMPI_LONG + 1]; /* classes of arrays, by the type of the elements; NULL: not in the dump */
};

/*
 * Reads the classes and the allocations of a HEAP_DUMP's objects. false: a record cannot be read; a message has been
 * printed. With hprof.data; heap_close() either way.
 */
bool heap_open(struct heap *h, const JVMPI_Event *e);
void heap_close(struct heap *h);

/* For the writers, with hprof.data: an object's size in bytes, the serial number of its allocation trace. */
uint32_t heap_size(const struct heap_record *r);
uint32_t heap_trace(const struct heap_record *r);
struct trace *heap_trace_made(const struct heap_record *r); /* NULL: older than the agent */

#endif
