#ifndef JS_BRIDGE_AGENT_H
#define JS_BRIDGE_AGENT_H

#include "jvm-bridge/host/base/bridge.h"

/* Return -errno; the failure has been printed. */
struct agent *agent_new(const void *base); /* NULL: AGENTS_MAX reached */
/* The agent whose library contains the address; created if new. Late: agent_start() will not be called. */
struct agent *agent_of(const void *caller, bool late);
int agent_host(const char *name, char *options, bool quiet); /* loads the library, runs its JVM_OnLoad */
void agent_start(struct agent *a, JNIEnv *env); /* classes, threads, JVM_INIT_DONE */

void functions_fill(struct agent *a);

/* A GetEnv that knows JVMPI. */
void vm_patch(JavaVM *vm);
void vm_unpatch(void);

jint event_enable(struct agent *a, jint type, bool on);
jint event_request(struct agent *a, jint type, void *arg);
void events_prepare(struct agent *a); /* enables what was requested early; drops unavailable events */

#endif
