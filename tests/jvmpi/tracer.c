/*
 * The class-load tracer of the specification, section 8.1: prints each class. Options: the file to write,
 * or one of fail (JVM_OnLoad returns JNI_ERR), crash, exit (ProfilerExit(7) in JVM_OnLoad). Two things for the
 * tests besides: the thread-local storage is its own, whatever other agents keep in theirs; and a class with the
 * name in JVMPI_TRACER_LEAVES ends it all (ProfilerExit(8)).
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
	const char *leaves = getenv("JVMPI_TRACER_LEAVES");

	switch (e->event_type) {
	case JVMPI_EVENT_CLASS_LOAD:
		fprintf(out, "> Class Load : %s\n", e->u.class_load.class_name);
		jvmpi->SetThreadLocalStorage(e->env_id, out);
		if (leaves && !strcmp(leaves, e->u.class_load.class_name))
			jvmpi->ProfilerExit(8);
		break;
	case JVMPI_EVENT_JVM_INIT_DONE: fprintf(out, "> Init done\n"); break;
	case JVMPI_EVENT_JVM_SHUT_DOWN:
		fprintf(out, "> Shut down\n");
		fflush(out);
		break;
	}
}

static void nothing(void *arg)
{
	(void)arg;
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
	if (!env_here()) { /* the option "early": no thread can be made yet */
		static char name[] = "too early";

		fprintf(out, "> Early : %d\n", (int)jvmpi->CreateSystemThread(name, JVMPI_NORMAL_PRIORITY, nothing));
	}
	jvmpi->NotifyEvent = notify;
	jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD, NULL);
	jvmpi->EnableEvent(JVMPI_EVENT_JVM_INIT_DONE, NULL);
	jvmpi->EnableEvent(JVMPI_EVENT_JVM_SHUT_DOWN, NULL);
	return JNI_OK;
}
