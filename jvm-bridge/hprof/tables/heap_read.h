#ifndef JS_HPROF_HEAP_READ_H
#define JS_HPROF_HEAP_READ_H

#include "jvm-bridge/hprof/tables/classes.h"

/* One record of a HEAP_DUMP, decoded. Values are left where the JVM put them: big-endian, references as jobjectIDs. */
struct heap_record {
	unsigned tag; /* JVMPI_GC_* */
	jobjectID id;
	struct class *class; /* CLASS_DUMP: itself; INSTANCE_DUMP: its class; OBJ_ARRAY_DUMP: the elements' class */
	JNIEnv *env; /* thread roots */
	uint32_t depth; /* frame roots */
	jobject ref; /* JNI_GLOBAL */
	jobjectID super, loader, signers, domain; /* CLASS_DUMP */
	uint32_t bytes; /* CLASS_DUMP: an instance's fields; INSTANCE_DUMP: the values */
	uint32_t n; /* arrays: elements */
	unsigned type; /* PRIM_ARRAY_DUMP: JVMPI_BOOLEAN and so on */
	const unsigned char *values; /* statics, fields, elements */
	size_t number; /* of the record in the dump, from 0 */
	const struct object *made; /* what is known of the allocation of `id`; NULL: nothing */
};

struct heap_dump {
	const unsigned char *begin, *end;
	bool primitives; /* level 2; level 1 omits values of primitive types */
	const struct object **made; /* for the first n_made records; NULL: not yet looked up */
	size_t n_made;
};

/*
 * Calls f for each record, except instances of unknown classes. false: a record cannot be read (a message has been
 * printed), or f returned false. With hprof.data.
 */
bool heap_read(const struct heap_dump *d, bool (*f)(const struct heap_record *r, void *arg), void *arg);

/* Size of a value in such a dump. */
size_t heap_value_size(const struct heap_dump *d, char signature);
size_t heap_element_size(unsigned type); /* for JVMPI_BOOLEAN to JVMPI_LONG */
unsigned heap_type(char signature); /* JVMPI_BOOLEAN and so on; JVMPI_CLASS for references */

static inline bool heap_is_reference(char signature)
{
	return signature == 'L' || signature == '[';
}

jobjectID heap_reference(const unsigned char *at);

#endif
