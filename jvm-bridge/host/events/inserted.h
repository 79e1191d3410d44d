#ifndef JS_BRIDGE_INSERTED_H
#define JS_BRIDGE_INSERTED_H

#include "jvm-bridge/host/base/bridge.h"

/*
 * calls=inserted: METHOD_ENTRY, METHOD_ENTRY2 and METHOD_EXIT by calls in the bytecode of all methods instead of JVMTI's
 * events, so that code is still compiled. They are inserted when one of the events is first enabled.
 */
bool inserted_open(void); /* from now on; false: the JVM cannot change classes */
/* What the_bridge.insert_allocs does: OBJECT_ALLOC where JVMTI does not report all allocations. */
bool allocs_insert(void);
void inserted_end(void); /* says what was left out; call when the JVM ends */

/* The methods of CALLS_CLASS: call.c. */
void JNICALL call_entered(JNIEnv *env, jclass klass, jint number);
void JNICALL call_left(JNIEnv *env, jclass klass, jint number);
void JNICALL call_caught(JNIEnv *env, jclass klass, jint number);
/* allocated.c */
void JNICALL call_allocated(JNIEnv *env, jclass klass, jobject object);
void JNICALL call_allocated_all(JNIEnv *env, jclass klass, jobject array);
void JNICALL on_vm_alloc(jvmtiEnv *ti, JNIEnv *env, jthread thread, jobject object, jclass klass, jlong size);
bool allocated_prepare(void); /* JNI functions report too; false: they cannot be replaced */

#endif
