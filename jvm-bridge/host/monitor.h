#ifndef JS_BRIDGE_MONITOR_H
#define JS_BRIDGE_MONITOR_H

#include "jvm-bridge/host/base/bridge.h"

JVMPI_RawMonitor monitor_create(char *name);
void monitor_enter(JVMPI_RawMonitor m);
void monitor_exit(JVMPI_RawMonitor m);
void monitor_wait(JVMPI_RawMonitor m, jlong ms);
void monitor_notify_all(JVMPI_RawMonitor m);
void monitor_destroy(JVMPI_RawMonitor m);
bool monitor_owned(void); /* the calling thread owns one */
/* t waits to enter one that the calling thread owns, or that is owned by a thread for which the same is true. */
bool monitor_keeps_out(const struct thread *t);
/* A raw monitor that is owned. */
struct raw_monitor {
	JVMPI_RawMonitor id;
	JNIEnv *owner; /* NULL: not a Java thread */
	uint32_t depth;
	char name[256];
};
size_t monitors_list(struct raw_monitor *ret, size_t max); /* returns the number */

#endif
