#ifndef JS_BRIDGE_SAVED_CLASS_H
#define JS_BRIDGE_SAVED_CLASS_H

#include "jvm-bridge/host/base/bridge.h"
#include "jvm-bridge/host/base/pool.h"

/* The reply to RequestEvent inside CLASS_UNLOAD, when the class no longer exists: names, but no method ids or fields. */
struct saved_class {
	struct pool pool;
	JVMPI_Event event;
};

struct saved_class *saved_class_new(const JVMPI_Event *class_load); /* NULL: out of memory */
void saved_class_free(struct saved_class *s); /* NULL is allowed */

#endif
