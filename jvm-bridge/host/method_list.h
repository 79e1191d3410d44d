#ifndef JS_BRIDGE_METHOD_LIST_H
#define JS_BRIDGE_METHOD_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "jvm-bridge/jvmpi/jvmpi.h"

/* Offsets of fields, by the JVM's tables. */
struct method_layout {
	uint64_t methods, ids; /* in InstanceKlass: Array<Method*> *, jmethodID * */
	uint64_t array_length, array_data;
	uint64_t const_method; /* in Method */
	uint64_t number; /* in ConstMethod, u2 */
};

/*
 * The Method * of each method of `a`, all of the class whose InstanceKlass is at `klass`, into a->addresses. Another thread
 * may redefine the class meanwhile, which frees what is read here: the kernel reads it, and does not mind what is not there.
 * false: it cannot be read, or does not fit together; a->addresses is undefined then.
 */
bool method_list_find(const struct method_layout *l, uint64_t klass, JVMPI_JS_Addresses *a);

#endif
