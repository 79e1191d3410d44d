#ifndef JS_BRIDGE_SUPPORT_H
#define JS_BRIDGE_SUPPORT_H

#include "jvm-bridge/host/base/bridge.h"

/*
 * What each JVMPI event needs of JVMTI and of the bridge. JVMTI grants some capabilities only while the JVM starts:
 * those are taken then, for events that somebody asks for (support_ask()), and for no others, because some of them
 * slow down compiled code.
 */
bool support_has(jint type); /* the event can be enabled on some JVMs */
bool support_possible(
	jint type); /* on this JVM; takes the capabilities. Between JVM start and VMInit, what can be had later is assumed to be */
bool support_prepare(jint type); /* also sets up what the bridge needs; true: available now */
bool support_wants(jvmtiEvent event); /* some agent does */
int jvm_release(void); /* 8 to 28 and on; 0: JVMTI does not tell */

/* Names as in jvmpi.h without JVMPI_EVENT_, separated by '+'. -EINVAL: an unknown name. Call in Agent_OnLoad. */
int support_ask(const char *names);
/* For an agent whose events are not yet known: takes what costs nothing to hold. Call in Agent_OnLoad. */
void support_ask_usual(void);

bool event_capabilities_add(int first, ...); /* bit numbers, ending with -1 */
void event_capability_drop(int bit); /* with the steady lock held */

#endif
