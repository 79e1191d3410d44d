#ifndef JS_BRIDGE_HOOK_H
#define JS_BRIDGE_HOOK_H

#include "jvm-bridge/host/base/bridge.h"

/* CLASS_LOAD_HOOK: for classes loaded while it is enabled, not for classes that other agents redefine. */
void JNICALL on_class_file(jvmtiEnv *ti, JNIEnv *env, jclass redefined, jobject loader, const char *name,
			   jobject domain, jint size, const unsigned char *data, jint *new_size,
			   unsigned char **new_data);

#endif
