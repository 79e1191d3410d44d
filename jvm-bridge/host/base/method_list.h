#ifndef JS_BRIDGE_METHOD_LIST_H
#define JS_BRIDGE_METHOD_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "jvm-bridge/jvmpi/jvmpi.h"

/* Offsets of fields, from the JVM's exported tables. */
struct method_layout {
	uint64_t methods, ids; /* in InstanceKlass: Array<Method*> *, jmethodID * */
	uint64_t array_length, array_data;
	uint64_t const_method; /* in Method */
	uint64_t number; /* in ConstMethod, u2 */
};

/*
 * Finds the Method * of each method of `a` and stores it in a->addresses; all methods belong to the class whose
 * InstanceKlass is at `klass`. Another thread may redefine the class meanwhile, which frees what is read here; so the
 * kernel does the reading (an unmapped address is an error, not a fault). false: it cannot be read or is
 * inconsistent; a->addresses is then undefined.
 */
bool method_list_find(const struct method_layout *l, uint64_t klass, JVMPI_JS_Addresses *a);

#endif
