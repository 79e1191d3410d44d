#ifndef JS_HPROF_HEAP_H
#define JS_HPROF_HEAP_H

#include "jvm-bridge/hprof/heap_read.h"
#include "jvm-bridge/hprof/traces.h"

/* A HEAP_DUMP that is being written. */
struct heap {
	struct heap_dump dump;
	JNIEnv *env;
	uint64_t objects, bytes; /* of its instances, arrays and classes */
	struct class *object; /* java.lang.Object; NULL: it has none */
	struct class
		*primitives[JVMPI_LONG + 1]; /* classes of arrays, by the type of the elements; NULL: there are none */
};

/*
 * Asks for a dump and writes it, as JVMPI's own. false: there is none, which was said. Without hprof.data: the JVM links
 * classes meanwhile, and others may wait for that lock while they load one.
 */
bool heap_write(void);

/* HEAP_DUMP. Takes hprof.data. */
void heap_dumped(const JVMPI_Event *e);

/* With hprof.data, for the writers: bytes of an object, and the serial number of where it was made. */
uint32_t heap_size(const struct heap_record *r);
uint32_t heap_trace(const struct heap_record *r);
struct trace *heap_trace_made(const struct heap_record *r); /* NULL: it is older than the agent */

/* The formats. With hprof.data. */
void text_heap(const struct heap *h);
void binary_heap(struct heap *h);

#endif
