/*
 * For a bridge that makes the call that it must not make (docs/jvmti-waits.md): bridge_churn.py --flush. It has OBJECT_FREE
 * on whatever the JDK, and sets its mode at each turn of the pump. Linked with --wrap=ids_looked_for, which the pump calls
 * once a turn.
 */
#include "jvm-bridge/host/id.h"
#include "jvm-bridge/host/support.h"

bool __wrap_ids_looked_for(void);

bool __wrap_ids_looked_for(void)
{
	jvmtiEnv *ti = the_bridge.ti;

	if (event_capabilities_add(32, -1))
		(*ti)->SetEventNotificationMode(ti, JVMTI_ENABLE, JVMTI_EVENT_OBJECT_FREE, NULL);
	return false;
}
