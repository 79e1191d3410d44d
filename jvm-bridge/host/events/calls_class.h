#ifndef JS_BRIDGE_CALLS_CLASS_H
#define JS_BRIDGE_CALLS_CLASS_H

#include "jvm-bridge/host/base/bridge.h"

/* CALLS_CLASS in the JVM: its definition, its native methods, and which class loaders find it. */

/* Once; false: no call may be inserted. ti: has on_class_prepare_link(); it keeps what loaders answered in tags. */
bool calls_class_link(jvmtiEnv *ti, JNIEnv *env);
void JNICALL on_class_prepare_link(jvmtiEnv *ti, JNIEnv *env, jthread thread, jclass klass);
/*
 * May classes of that loader call it? A loader that does not find it would make them fail. The first question calls the
 * loader's loadClass(), on the calling thread, as the JVM itself does before it runs the first inserted call.
 */
bool calls_class_is_found(JNIEnv *env, jobject loader);

#endif
