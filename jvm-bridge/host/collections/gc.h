#ifndef JS_BRIDGE_GC_H
#define JS_BRIDGE_GC_H

#include "jvm-bridge/host/base/bridge.h"

void gc_init(void); /* before the pump is started */
void gc_run(struct agent *a);
uint32_t gc_collections(void); /* so far */
/* Nobody wants ids any more: the pump removes them from their objects, unless somebody wants ids again by then. */
void gc_ids_release(void);
bool gc_pump_wants_code(
	struct agent *a); /* code_report_all() on the pump, soon; false: the pump could not be started */
void JNICALL on_gc_start(jvmtiEnv *ti);
void JNICALL on_gc_finish(jvmtiEnv *ti);
void JNICALL on_object_free(jvmtiEnv *ti, jlong tag);

#endif
