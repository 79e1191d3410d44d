/*
 * For a bridge that makes the call that it must not make (docs/jvmti-waits.md): bridge_churn.py --flush. It has OBJECT_FREE
 * on whatever the JDK, and sets its mode at each turn of the pump. Linked with --wrap=ids_looked_for, and with
 * --wrap=anybody_wants, which the pump calls once a turn, for GC_FINISH.
 */
#include "jvm-bridge/host/id.h"

bool __real_anybody_wants(jint type);
bool __wrap_anybody_wants(jint type);
bool __wrap_ids_looked_for(void);

bool __wrap_anybody_wants(jint type)
{
	jvmtiEnv *ti = the_bridge.ti;

	if (type == JVMPI_EVENT_GC_FINISH && event_capabilities_add(32, -1))
		(*ti)->SetEventNotificationMode(ti, JVMTI_ENABLE, JVMTI_EVENT_OBJECT_FREE, NULL);
	return __real_anybody_wants(type);
}

bool __wrap_ids_looked_for(void)
{
	return false;
}
