#ifndef JS_HPROF_CLASSES_H
#define JS_HPROF_CLASSES_H

#include "jvm-bridge/hprof/map.h"
#include "jvm-bridge/jvmpi/jvmpi.h"

/*
 * Names of classes and methods, as CLASS_LOAD told them. A method that a trace has, and its class, stay for good; those of
 * an unloaded class that no trace has are freed. All functions: with hprof.data.
 */
struct method {
	struct link link; /* by id, as long as the class is loaded */
	jmethodID id;
	struct class *class;
	char *name, *signature;
	bool kept; /* a trace has it */
};

struct class
{
	struct link link; /* by id, as long as it is loaded */
	jobjectID id;
	uint32_t serial;
	char *name, *source; /* source: NULL where the class has none */
	struct method *methods;
	size_t n_methods;
};

void class_loaded(const JVMPI_Event *e);
void class_unloaded(jobjectID id);

/* Asks the JVM for what it did not tell. NULL: there is no such method; it may be out of memory, too. */
struct method *method_of(jmethodID id);
void method_keep(struct method *m);

#endif
