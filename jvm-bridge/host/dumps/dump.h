#ifndef JS_BRIDGE_DUMP_H
#define JS_BRIDGE_DUMP_H

#include "jvm-bridge/host/dumps/dump_space.h"
#include "jvm-bridge/host/dumps/layout.h"

/* HEAP_DUMP and OBJECT_DUMP. JVMPI_FAIL if a limit is exceeded or memory is short; a message is printed. */
jint heap_dump_request(struct agent *a, struct thread *t, JNIEnv *env, const JVMPI_HeapDumpArg *arg);
jint object_dump_request(struct agent *a, struct thread *t, JNIEnv *env, struct object_id *id);

/* Offsets in a CLASS_DUMP record. */
enum {
	CLASS_AT_ID = 1,
	CLASS_AT_SUPER = 9,
	CLASS_AT_LOADER = 17,
	CLASS_AT_SIGNERS = 25,
	CLASS_AT_DOMAIN = 33,
	CLASS_AT_SIZE = 57,
	CLASS_AT_INTERFACES = 61
};
enum { INSTANCE_AT_VALUES = 21, ARRAY_AT_VALUES = 21, PRIMITIVES_AT_VALUES = 14 };

size_t class_record_size(const struct class_layout *c);
static inline char *class_statics(char *record, const struct class_layout *c)
{
	return record + CLASS_AT_INTERFACES + 8 * (size_t)c->n_interfaces + 2;
}

/* Write records at p, with the references still empty. */
void class_record(char *p, const struct class_layout *c);
void instance_record(char *p, const struct object_id *id, const struct class_layout *c);
void objects_record(char *p, const struct object_id *id, const struct class_layout *c, jint length);
void primitives_record(char *p, const struct object_id *id, char type, jint length);

/* option dump_limit=MB */
void dump_limit_set(unsigned megabytes);

#endif
