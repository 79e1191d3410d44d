#ifndef JS_BRIDGE_SUPPORT_H
#define JS_BRIDGE_SUPPORT_H

#include "jvm-bridge/host/bridge.h"

/*
 * What each event of JVMPI takes of JVMTI and of the bridge. Some capabilities of JVMTI are given only while the JVM is being
 * started: they are taken then, for events that somebody asks for (support_ask()), and for no others, because some of them
 * make the JIT compilers' code slower.
 */
bool support_has(jint type); /* the event can be enabled in some JVM */
bool support_possible(
	jint type); /* in this one; takes the capabilities. Before the JVM lives the answer is as good as later */
bool support_prepare(jint type); /* and what the bridge needs; true: it can be had now */
bool support_wants(jvmtiEvent event); /* some agent does */

/* Names as in jvmpi.h, without JVMPI_EVENT_, separated by '+'. -EINVAL: one is none. In Agent_OnLoad. */
int support_ask(const char *names);
/* For an agent whose wishes are not known yet: what costs nothing to be held. In Agent_OnLoad. */
void support_ask_usual(void);

#endif
