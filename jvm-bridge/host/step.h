#ifndef JS_BRIDGE_STEP_H
#define JS_BRIDGE_STEP_H

#include "jvm-bridge/host/base/bridge.h"

struct steps;

void JNICALL on_single_step(jvmtiEnv *ti, JNIEnv *env, jthread thread, jmethodID method, jlocation location);
void steps_done(struct steps *s); /* for an ending thread; NULL is allowed */

#endif
