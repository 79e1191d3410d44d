#ifndef JS_HPROF_CLASSES_H
#define JS_HPROF_CLASSES_H

#include "jvm-bridge/hprof/base/map.h"
#include "jvm-bridge/jvmpi/jvmpi.h"

/*
 * Classes and their methods, as CLASS_LOAD reported them. A class that is `kept` is never freed, nor are its methods;
 * other classes are freed when they are unloaded. All functions: with hprof.data.
 */
struct method {
	struct link link; /* by id, while the class is loaded */
	jmethodID id;
	struct class *class;
	char *name, *signature;
};

struct field {
	char *name, *signature;
};

struct class
{
	struct link link; /* by id, while it is loaded */
	jobjectID id;
	uint32_t serial;
	bool kept; /* a trace, site or monitor refers to it */
	uint32_t written_to; /* number of the binary output file; 0: none */
	uint64_t written_object; /* with this id of its object; 0: none */
	char *name, *source; /* source is NULL if unknown */
	struct method *methods;
	size_t n_methods;
	struct field *statics, *fields; /* its own, in the order of heap dumps */
	size_t n_statics, n_fields, n_interfaces;
	uint64_t address; /* in the binary output; 0: none yet */
	/* In the heap dump being written; array: the class of arrays of it; written: it has its record. */
	struct class *super, *array;
	bool written;
};

void class_loaded(const JVMPI_Event *e);
uint32_t class_unloaded(jobjectID id); /* returns its serial number if the binary output has it, otherwise 0 */

/* Ask the JVM if it is not known. NULL: no such class or method, or out of memory. */
struct class *class_of(jobjectID id);
struct method *method_of(jmethodID id);
void class_keep(struct class *c);
size_t classes_gone_bytes(void); /* of unloaded classes that are kept, about */

/* An object's class, as OBJECT_ALLOC reports it. */
struct kind {
	struct class *class; /* of an array of objects: the elements' class; NULL: array of primitives, or unknown */
	jint is_array;
};

/* Enough for every printed name. */
enum { NAME_MAX_ = 3200 };

/* As in Java source: java.lang.String[], int[][]; as in class files: [Ljava/lang/String;, [[I. */
const char *class_source_name(const struct class *c, char ret[NAME_MAX_]);
const char *kind_source_name(struct kind k, char ret[NAME_MAX_]);
const char *kind_signature(struct kind k, char ret[NAME_MAX_]);

/* The id of the class's object in the binary output. */
uint64_t class_address(struct class *c);

#endif
