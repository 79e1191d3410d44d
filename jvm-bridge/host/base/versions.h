#ifndef JS_BRIDGE_VERSIONS_H
#define JS_BRIDGE_VERSIONS_H

#include <jni.h>
#include <stdbool.h>

/*
 * The current compiled versions of each method. COMPILED_METHOD_UNLOAD names a method, not an address, and a method
 * can have several versions (C1, C2) at a time: the event is sent when the last one is unloaded.
 */
void versions_add(jmethodID method, const void *addr); /* a known version is ignored */
bool versions_drop(jmethodID method, const void *addr); /* true: none left, or none was known */
void versions_clear(void); /* JVMTI will not report their unloading any more */

#endif
