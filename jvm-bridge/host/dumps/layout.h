#ifndef JS_BRIDGE_LAYOUT_H
#define JS_BRIDGE_LAYOUT_H

#include "jvm-bridge/host/base/pool.h"
#include "jvm-bridge/host/id.h"

/* How dumps lay out the objects of each class: where each field's value is. */

struct field_place {
	jfieldID id;
	char type; /* the first character of its signature */
	bool is_static;
	uint32_t at; /* offset in bytes: among the class's own instance fields, or among its statics */
	bool kept; /* the dump contains it */
};

struct class_layout {
	struct object_id *id;
	struct class_layout *super; /* NULL: none */
	struct object_id **interfaces; /* only those the class declares */
	jint n_interfaces;
	struct field_place *fields; /* in JVMTI's order */
	jint n_fields;
	jint first; /* number of fields of the superclasses, which come before */
	jint of_interfaces; /* number of fields of all interfaces; JVMTI counts them before those of the classes */
	uint32_t own_bytes; /* its own instance fields */
	uint32_t bytes; /* including those of the superclasses */
	uint32_t static_bytes;
	bool is_dumped; /* it is linked, so it has a CLASS record */
	char element; /* for an array: the first character of its elements' signature; otherwise 0 */
	struct object_id *element_class; /* for an array of objects */
	jint interfaces_seen; /* used by layouts_build() */
};

struct layouts {
	struct pool pool;
	struct class_layout **at; /* hash table by id */
	size_t n, cap;
	jint marks;
	bool primitives; /* values of primitive types are included */
	struct thread *t;
	JNIEnv *env;
};

/* Adds the class and everything it inherits. NULL: out of memory. */
struct class_layout *layout_add(struct layouts *l, jclass klass);
struct class_layout *layout_find(const struct layouts *l, const struct object_id *id); /* NULL: not found */
/* By JVMTI's index of a field in an object of this class; *at: offset from the first value. NULL: no such field. */
const struct field_place *layout_field(const struct class_layout *c, jint index, uint32_t *at);
const struct field_place *layout_static(const struct class_layout *c, jint index); /* by the same index */
void layouts_done(struct layouts *l);

#endif
