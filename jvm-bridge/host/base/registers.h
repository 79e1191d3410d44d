#ifndef JS_BRIDGE_REGISTERS_H
#define JS_BRIDGE_REGISTERS_H

#include "jvm-bridge/host/base/bridge.h"

/* Registers of suspended threads. */
void registers_init(uint64_t env_distance); /* env_distance: JNIEnv minus JavaThread */
bool registers_known(void);
uint64_t registers_sum(JNIEnv *env);

#endif
