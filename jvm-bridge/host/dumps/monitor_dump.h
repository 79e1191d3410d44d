#ifndef JS_BRIDGE_MONITOR_DUMP_H
#define JS_BRIDGE_MONITOR_DUMP_H

#include "jvm-bridge/host/base/bridge.h"

/* NOT_AVAILABLE: the capabilities that it needs were not requested when the JVM was started (support.h). */
jint monitor_dump_request(struct agent *a, struct thread *t, JNIEnv *env);

#endif
