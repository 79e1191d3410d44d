#ifndef JS_HOTSPOT_JAVA_OBJECTS_H
#define JS_HOTSPOT_JAVA_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/hotspot/reader/jvm.h"

/* Objects of the Java heap. They may move while they are read, so callers check whether the results make sense. */

/* Call heap_mode_read() first. */
bool oop_load(struct jvm *jvm, uint64_t addr, uint64_t *ret); /* reads the oop field at addr as an address */
bool oop_from_slot(struct jvm *jvm, uint64_t slot, uint64_t *ret); /* for a full-width slot */
uint64_t oop_klass(struct jvm *jvm, uint64_t oop); /* 0: unknown */

/* z_heap.c: converts a ZGC reference to the object's address. False: it may have moved, to where is not known. */
bool z_resolve(struct jvm *jvm, uint64_t raw, uint64_t *ret);

/* klass_fields.c: the offset of an instance field; -1: none. */
int32_t klass_field_offset(struct jvm *jvm, uint64_t klass, const char *name, const char *sig);
/* The same for a field that the JVM adds to the class. JDK 21 on. */
int32_t klass_injected_offset(struct jvm *jvm, uint64_t klass, const char *name);
bool klass_name_is(struct jvm *jvm, uint64_t klass, const char *name);
uint64_t klass_find_super(struct jvm *jvm, uint64_t klass, const char *name); /* may be the class itself */

/* Offsets of fields, determined when the first name is read. */
struct java_offsets {
	bool known;
	int32_t thread_name, thread_eetop;
	int32_t string_value, string_coder; /* coder -1: JDK 8, char[] */
	uint64_t string_klass;
	bool status_known;
	/* threadStatus; from JDK 19 on, in the object to which `holder` refers. -1: there is none. */
	int32_t thread_holder, status;
};

/* Offsets of the fields from a Continuation to its virtual thread, determined with the first one. */
struct virtual_offsets {
	bool known;
	uint64_t cont_klass, run_klass, klass; /* VThreadContinuation, its Runnable's class, VirtualThread */
	int32_t target, thread, cont, id;
};

/* Facts about classes of the JDK, learned from the first object of each. Zero-initialise, and set jvm. */
struct java_objects {
	struct jvm *jvm; /* borrowed */
	struct java_offsets java;
	struct virtual_offsets virtual_threads;
};

/* java_thread.c: java.lang.Thread objects, by address. false: unreadable, or of an unknown layout. */
bool java_thread_known(struct java_objects *o, uint64_t thread); /* the fields of its class */
/* The name. The caller must be sure that the object is a Thread. */
bool java_thread_name(struct java_objects *o, uint64_t thread, char *buf, size_t size);
bool java_thread_eetop(struct java_objects *o, uint64_t thread, uint64_t *ret); /* JavaThread* */
bool java_thread_status(struct java_objects *o, uint64_t thread, uint32_t *ret); /* threadStatus */

#endif
