#ifndef JS_BRIDGE_METHOD_H
#define JS_BRIDGE_METHOD_H

#include "jvm-bridge/host/base/bridge.h"

/* METHOD_ENTRY and METHOD_ENTRY2. depth: of the method's frame, 0 the innermost one. */
void method_entry_send(struct thread *t, JNIEnv *env, jmethodID method, jint depth);
void JNICALL on_method_entry(jvmtiEnv *ti, JNIEnv *env, jthread thread, jmethodID method);
void JNICALL on_method_exit(jvmtiEnv *ti, JNIEnv *env, jthread thread, jmethodID method, jboolean by_exception,
			    jvalue value);

#endif
