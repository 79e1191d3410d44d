#ifndef JS_BRIDGE_REFS_H
#define JS_BRIDGE_REFS_H

#include "jvm-bridge/host/base/bridge.h"

/*
 * JNI's global references: JNI_GLOBALREF_ALLOC, _FREE and JNI_WEAK_GLOBALREF_ALLOC, _FREE, by JNI functions of our
 * own in the JVM's table. The bridge makes its own references with the functions below: those are not reported.
 */
jobject ref_new(JNIEnv *env, jobject object);
void ref_delete(JNIEnv *env, jobject ref);
jweak ref_weak_new(JNIEnv *env, jobject object);
void ref_weak_delete(JNIEnv *env, jweak ref);

bool refs_prepare(void); /* references are seen from now on; false: the table cannot be replaced */

#endif
