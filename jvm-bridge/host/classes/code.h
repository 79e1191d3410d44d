#ifndef JS_BRIDGE_CODE_H
#define JS_BRIDGE_CODE_H

#include "jvm-bridge/host/base/bridge.h"

void JNICALL on_code_load(jvmtiEnv *ti, jmethodID method, jint size, const void *addr, jint map_length,
			  const jvmtiAddrLocationMap *map, const void *info);
void JNICALL on_code_unload(jvmtiEnv *ti, jmethodID method, const void *addr);
void JNICALL on_dynamic_code(jvmtiEnv *ti, const char *name, const void *addr, jint length);
void code_report_all(struct agent *a, struct thread *t, jint requested); /* reports existing code */

#endif
