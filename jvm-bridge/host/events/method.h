#ifndef JS_BRIDGE_METHOD_H
#define JS_BRIDGE_METHOD_H

#include "jvm-bridge/host/base/bridge.h"

void JNICALL on_method_entry(jvmtiEnv *ti, JNIEnv *env, jthread thread, jmethodID method);
void JNICALL on_method_exit(jvmtiEnv *ti, JNIEnv *env, jthread thread, jmethodID method, jboolean by_exception,
			    jvalue value);

#endif
