#ifndef JS_BRIDGE_JNI_TABLE_H
#define JS_BRIDGE_JNI_TABLE_H

#include "jvm-bridge/host/base/bridge.h"

/*
 * Puts JNI functions of our own in the JVM's table, once for each `before`, which gets the table as it was and is set
 * first. Neither is undone or freed: threads may be inside the functions, and another agent may have put its own table on
 * top. false: the table cannot be replaced.
 */
bool jni_table_change(_Atomic(struct JNINativeInterface_ *) *before, void (*change)(struct JNINativeInterface_ *));

#endif
