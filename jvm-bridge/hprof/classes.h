#ifndef JS_HPROF_CLASSES_H
#define JS_HPROF_CLASSES_H

#include "jvm-bridge/hprof/map.h"
#include "jvm-bridge/jvmpi/jvmpi.h"

/*
 * Classes and their methods, as CLASS_LOAD told them. A class that is kept stays for good, unloaded or not, and so do the
 * methods of it; others are freed when they are unloaded. All functions: with hprof.data.
 */
struct method {
	struct link link; /* by id, as long as the class is loaded */
	jmethodID id;
	struct class *class;
	char *name, *signature;
};

struct field {
	char *name, *signature;
};

struct class
{
	struct link link; /* by id, as long as it is loaded */
	jobjectID id;
	uint32_t serial;
	bool kept; /* a trace, a site or a monitor has it */
	bool told; /* by the binary output, */
	uint64_t told_object; /* with this id of its object; 0: none */
	char *name, *source; /* source: NULL where the class has none */
	struct method *methods;
	size_t n_methods;
	struct field *statics, *fields; /* its own, in the order of heap dumps */
	size_t n_statics, n_fields, n_interfaces;
	uint64_t address; /* in the binary output; 0: none yet */
	/* In the heap dump that is being written; array: of arrays of it; written: its record, of such a one. */
	struct class *super, *array;
	bool written;
};

void class_loaded(const JVMPI_Event *e);
uint32_t class_unloaded(jobjectID id); /* its serial number, if the binary output knows it; else 0 */

/* Asks the JVM for what it did not tell. NULL: there is no such class or method; it may be out of memory, too. */
struct class *class_of(jobjectID id);
struct method *method_of(jmethodID id);
void class_keep(struct class *c);

/* An object's class, as OBJECT_ALLOC tells it. */
struct kind {
	struct class *class; /* of an array of objects: of its elements; NULL: of primitives, or unknown */
	jint is_array;
};

/* Room for every name that is printed. */
enum { NAME_MAX_ = 3200 };

/* As in Java's source: java.lang.String[], int[][]; as in class files: [Ljava/lang/String;, [[I. */
const char *class_source_name(const struct class *c, char ret[NAME_MAX_]);
const char *kind_source_name(struct kind k, char ret[NAME_MAX_]);
const char *kind_signature(struct kind k, char ret[NAME_MAX_]);

/* What has an id of its own in the binary output. */
uint64_t class_address(struct class *c);

#endif
