#ifndef JS_BRIDGE_CONTENTION_H
#define JS_BRIDGE_CONTENTION_H

#include "jvm-bridge/host/base/bridge.h"

/* Contention on Java monitors: MONITOR_CONTENDED_ENTER, _ENTERED, _EXIT, MONITOR_WAIT, MONITOR_WAITED. */
void JNICALL on_monitor_enter(jvmtiEnv *ti, JNIEnv *env, jthread thread, jobject object);
void JNICALL on_monitor_entered(jvmtiEnv *ti, JNIEnv *env, jthread thread, jobject object);
void JNICALL on_monitor_wait(jvmtiEnv *ti, JNIEnv *env, jthread thread, jobject object, jlong timeout);
void JNICALL on_monitor_waited(jvmtiEnv *ti, JNIEnv *env, jthread thread, jobject object, jboolean timed_out);

#endif
