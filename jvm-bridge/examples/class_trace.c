/*
 * The class-load tracer of the specification's section 8.1: prints a line on stderr for each class that is loaded.
 *
 *     java -agentpath:/path/libjsampler-bridge.so=agent=/path/libexample_class_trace.so ...
 */
#include <stdio.h>

#include "jvm-bridge/jvmpi/jvmpi.h"

static JVMPI_Interface *jvmpi;

static void notify(JVMPI_Event *e)
{
	if (e->event_type == JVMPI_EVENT_CLASS_LOAD)
		fprintf(stderr, "class load: %s\n", e->u.class_load.class_name);
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	void *interface;

	(void)options, (void)reserved;
	if ((*vm)->GetEnv(vm, &interface, JVMPI_VERSION_1) < 0)
		return JNI_ERR;
	jvmpi = interface;
	jvmpi->NotifyEvent = notify;
	return jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD, NULL) == JVMPI_SUCCESS ? JNI_OK : JNI_ERR;
}
