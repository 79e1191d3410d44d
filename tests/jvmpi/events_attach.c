/* Monitors are looked at while threads are being attached, and have no java.lang.Thread yet. */
#include <unistd.h>

#include "tests/jvmpi/events.h"

enum { ATTACHERS = 3, ROUNDS = 100 };

static JavaVM *vm;
static _Atomic int stop, attached, exits;

static void *attacher(void *arg)
{
	JNIEnv *env;

	(void)arg;
	while (!stop && !(*vm)->AttachCurrentThread(vm, (void **)&env, NULL)) {
		attached++;
		(*vm)->DetachCurrentThread(vm);
	}
	return NULL;
}

static void attach_seen(JVMPI_Event *e, jint type)
{
	(void)e;
	exits += type == JVMPI_EVENT_MONITOR_CONTENDED_EXIT;
}

static void attach_dump(JNIEnv *env)
{
	pthread_t threads[ATTACHERS];
	int n = 0, dumps = 0;

	(*env)->GetJavaVM(env, &vm);
	while (n < ATTACHERS && !pthread_create(&threads[n], NULL, attacher, NULL))
		n++;
	for (int i = 0; i < ROUNDS; i++) {
		dumps += jvmpi->RequestEvent(JVMPI_EVENT_MONITOR_DUMP, NULL) == JVMPI_SUCCESS;
		usleep(10000);
	}
	stop = 1;
	while (n)
		pthread_join(threads[--n], NULL);
	check("MONITOR_DUMP", dumps == ROUNDS && attached > ROUNDS, "%d of %d, %d threads attached", dumps, ROUNDS,
	      attached);
	check("MONITOR_CONTENDED_EXIT", exits > ROUNDS / 10, "%d", exits);
}

static const jint attach_types[] = {JVMPI_EVENT_MONITOR_CONTENDED_EXIT, 0};

const struct kind kind_attach = {.what = "attach", .types = attach_types, .seen = attach_seen, .dump = attach_dump};
