/*
 * The class-load tracer of the specification, section 8.1: prints each class. Options: the file to write,
 * or one of fail (JVM_OnLoad returns JNI_ERR), crash, exit (ProfilerExit(7) in JVM_OnLoad).
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/jvmpi/check.h"

static FILE *out;

static void notify(JVMPI_Event *e)
{
	switch (e->event_type) {
	case JVMPI_EVENT_CLASS_LOAD:
		fprintf(out, "> Class Load : %s\n", e->u.class_load.class_name);
		break;
	case JVMPI_EVENT_JVM_INIT_DONE:
		fprintf(out, "> Init done\n");
		break;
	case JVMPI_EVENT_JVM_SHUT_DOWN:
		fprintf(out, "> Shut down\n");
		fflush(out);
		break;
	}
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	(void)reserved;
	if (options && !strcmp(options, "fail"))
		return JNI_ERR;
	if (options && !strcmp(options, "crash"))
		raise(SIGABRT);
	if (!options || !interface_get(vm, JVMPI_VERSION_1))
		return JNI_ERR;
	if (!strcmp(options, "exit"))
		jvmpi->ProfilerExit(7);
	out = fopen(options, "we");
	if (!out)
		return JNI_ERR;
	jvmpi->NotifyEvent = notify;
	jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD, NULL);
	jvmpi->EnableEvent(JVMPI_EVENT_JVM_INIT_DONE, NULL);
	jvmpi->EnableEvent(JVMPI_EVENT_JVM_SHUT_DOWN, NULL);
	return JNI_OK;
}
