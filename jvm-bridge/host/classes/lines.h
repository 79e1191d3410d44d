#ifndef JS_BRIDGE_LINES_H
#define JS_BRIDGE_LINES_H

#include "jvm-bridge/host/base/bridge.h"

/* Line number tables. */
struct lines {
	jvmtiLineNumberEntry *entries; /* JVMTI's memory */
	jint n; /* -1: no table, -3: native method */
};

void lines_get(jmethodID method, struct lines *ret);
void lines_done(struct lines *l);
jint lines_find(const struct lines *l, jlong bci);
void lines_range(const struct lines *l, jint *first, jint *last);

#endif
