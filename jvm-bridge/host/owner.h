#ifndef JS_BRIDGE_OWNER_H
#define JS_BRIDGE_OWNER_H

#include "jvm-bridge/host/base/bridge.h"

/*
 * Who owns a Java monitor, where JVMTI must not be asked: from JDK 23 on GetObjectMonitorUsage dereferences the
 * java.lang.Thread of every JavaThread, and one that is just being attached has none yet, so the JVM crashes
 * (Threads::get_pending_threads(), runtime/threads.cpp). The JVM's own records tell as well.
 */
bool owner_is_asked(void); /* GetObjectMonitorUsage is safe */
bool owners_are_known(void); /* by the JVM's records; each owner from owners_init() on */
void owners_init(uint64_t env_distance); /* offset of the JNIEnv in a JavaThread */

/*
 * The owner of `object`, which the calling thread waits to enter; NULL: none, or unknown. Others go on meanwhile, and
 * collections move objects: what does not fit together is unknown.
 */
JNIEnv *owner_of_pending(JNIEnv *env, jobject object);

#endif
