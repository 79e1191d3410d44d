#ifndef JS_BRIDGE_VERSIONS_H
#define JS_BRIDGE_VERSIONS_H

#include <jni.h>
#include <stdbool.h>

/*
 * The compiled versions that there are of each method. COMPILED_METHOD_UNLOAD names a method, not an address, and a method
 * has several versions (C1, C2) at a time: it is sent when the last one goes.
 */
void versions_add(jmethodID method, const void *addr); /* told again: nothing */
bool versions_drop(jmethodID method, const void *addr); /* true: none is left, or none was known */
void versions_clear(void); /* nobody tells of them any more */

#endif
