#ifndef JS_BRIDGE_LAYOUT_H
#define JS_BRIDGE_LAYOUT_H

#include "jvm-bridge/host/id.h"
#include "jvm-bridge/host/pool.h"

/* How dumps show the objects of classes: where each field has its value. */

struct field_place {
	jfieldID id;
	char type; /* the first character of its signature */
	bool is_static;
	uint32_t at; /* bytes behind the first value: of the class's own instance fields, or of its statics */
	bool kept; /* the dump has it */
};

struct class_layout {
	struct object_id *id;
	struct class_layout *super; /* NULL: none */
	struct object_id **interfaces; /* the class's own */
	jint n_interfaces;
	struct field_place *fields; /* as JVMTI lists them */
	jint n_fields;
	jint first; /* fields of the superclasses; they come before */
	jint of_interfaces; /* fields of all interfaces, which JVMTI counts before those of the classes */
	uint32_t own_bytes; /* of its own instance fields */
	uint32_t bytes; /* with those of the superclasses */
	uint32_t static_bytes;
	bool is_dumped; /* linked: there is a CLASS record of it */
	char element; /* of an array: the first character of its elements' signature, else 0 */
	struct object_id *element_class; /* of an array of objects */
	jint interfaces_seen; /* of layouts_build() */
};

struct layouts {
	struct pool pool;
	struct class_layout **at; /* a hash table by id */
	size_t n, cap;
	jint marks;
	bool primitives; /* values of primitive types are kept */
	struct thread *t;
	JNIEnv *env;
};

/* The class with all that it inherits. NULL: out of memory. */
struct class_layout *layout_add(struct layouts *l, jclass klass);
struct class_layout *layout_find(const struct layouts *l, const struct object_id *id); /* NULL: there is none */
/* JVMTI's index of a field of an object of this class; *at: bytes behind its first value. NULL: no such field. */
const struct field_place *layout_field(const struct class_layout *c, jint index, uint32_t *at);
const struct field_place *layout_static(const struct class_layout *c, jint index); /* of the class itself */
void layouts_done(struct layouts *l);

#endif
