/* An agent that enables no event: what hosting itself costs (scripts/bench --bridge --hosting). */
#include "tests/jvmpi/check.h"

static void notify(JVMPI_Event *e)
{
	(void)e;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	(void)options;
	(void)reserved;
	if (!interface_get(vm, JVMPI_VERSION_1))
		return JNI_ERR;
	jvmpi->NotifyEvent = notify;
	return JNI_OK;
}
