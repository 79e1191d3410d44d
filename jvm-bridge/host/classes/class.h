#ifndef JS_BRIDGE_CLASS_H
#define JS_BRIDGE_CLASS_H

#include "jvm-bridge/host/base/bridge.h"

void class_report(struct agent *a, struct thread *t, JNIEnv *env, jclass klass);
void class_report_of_method(struct agent *a, struct thread *t, JNIEnv *env, jmethodID method);
bool class_report_all(struct agent *a, struct thread *t, JNIEnv *env, bool again); /* false: no list of classes */
jint class_request(struct agent *a, struct thread *t, JNIEnv *env, struct object_id *id);
jint method_request(struct agent *a, struct thread *t, JNIEnv *env, jmethodID method);
/* The agent got a class's id other than by CLASS_LOAD: report the class's end to it as well. */
void class_id_given(struct agent *a, JNIEnv *env, jclass klass, struct object_id *id);
bool class_report_unload(struct agent *a, struct thread *t, struct object_id *id);

#endif
