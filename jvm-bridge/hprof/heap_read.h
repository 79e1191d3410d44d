#ifndef JS_HPROF_HEAP_READ_H
#define JS_HPROF_HEAP_READ_H

#include "jvm-bridge/hprof/classes.h"

/* One record of a HEAP_DUMP, in pieces. Values are where the JVM put them: big-endian, references as jobjectIDs. */
struct heap_record {
	unsigned tag; /* JVMPI_GC_* */
	jobjectID id;
	struct class *class; /* CLASS_DUMP: itself; INSTANCE_DUMP: its class; OBJ_ARRAY_DUMP: of the elements */
	JNIEnv *env; /* roots of a thread */
	uint32_t depth; /* roots of a frame */
	jobject ref; /* JNI_GLOBAL */
	jobjectID super, loader, signers, domain; /* CLASS_DUMP */
	uint32_t bytes; /* CLASS_DUMP: of the fields of an instance; INSTANCE_DUMP: of the values */
	uint32_t n; /* arrays: elements */
	unsigned type; /* PRIM_ARRAY_DUMP: JVMPI_BOOLEAN and so on */
	const unsigned char *values; /* statics, fields, elements */
};

struct heap_dump {
	const unsigned char *begin, *end;
	bool primitives; /* level 2; level 1 leaves the values of primitive types out */
};

/*
 * f for each, but instances of a class that nothing is known of; false: a record cannot be read, which is said, or f said so.
 * With hprof.data.
 */
bool heap_read(const struct heap_dump *d, bool (*f)(const struct heap_record *r, void *arg), void *arg);

/* Bytes of a value in such a dump. */
size_t heap_value_size(const struct heap_dump *d, char signature);
size_t heap_element_size(unsigned type); /* of JVMPI_BOOLEAN to JVMPI_LONG */
unsigned heap_type(char signature); /* JVMPI_BOOLEAN and so on; JVMPI_CLASS for references */

static inline bool heap_is_reference(char signature)
{
	return signature == 'L' || signature == '[';
}

jobjectID heap_reference(const unsigned char *at);

#endif
