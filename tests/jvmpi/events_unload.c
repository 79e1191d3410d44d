/* Classes that go while the heap is dumped: none of those that a dump names was told as unloaded before it. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/jvmpi/events.h"

enum { DUMPS = 25, WINDOW_US = 5000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct table gone; /* classes, since the dump was asked for */
static _Atomic bool stop, stopped;
static int dumps, unloads, named;

static void unloaded(jobjectID id)
{
	pthread_mutex_lock(&lock);
	unloads++;
	table_add(&gone, id, NULL);
	pthread_mutex_unlock(&lock);
}

/* An id that an object of the dump has got since is of an object that lives. */
static bool is_gone(JNIEnv *env, jobjectID id)
{
	jobject object;
	bool found;

	pthread_mutex_lock(&lock);
	found = table_find(&gone, id);
	pthread_mutex_unlock(&lock);
	object = found ? jvmpi->jobjectID2jobject(id) : NULL;
	if (object)
		(*env)->DeleteLocalRef(env, object);
	return found && !object;
}

static void dumped(const JVMPI_Event *e)
{
	dumps++;
	for (const char *p = e->u.heap_dump.begin; p + 9 <= e->u.heap_dump.end; p += 9) {
		jobjectID id;

		memcpy(&id, p + 1, sizeof(id));
		named += is_gone(e->env_id, id);
	}
}

static void unload_seen(JVMPI_Event *e, jint type)
{
	if (type == JVMPI_EVENT_CLASS_UNLOAD)
		unloaded(e->u.class_unload.class_id);
	if (type == JVMPI_EVENT_HEAP_DUMP)
		dumped(e);
	if (type == JVMPI_EVENT_GC_FINISH)
		usleep(WINDOW_US); /* for what waits for the end of it: the dump, and CLASS_UNLOAD */
}

static void collector_main(void *arg)
{
	(void)arg;
	while (!stop)
		jvmpi->RunGC();
	stopped = true;
}

static void unload_dump(JNIEnv *env)
{
	static char name[] = "collector";
	JVMPI_HeapDumpArg level = {JVMPI_DUMP_LEVEL_0};

	(void)env;
	if (jvmpi->CreateSystemThread(name, JVMPI_NORMAL_PRIORITY, collector_main))
		stopped = true;
	for (int i = 0; i < DUMPS; i++) {
		pthread_mutex_lock(&lock);
		free(gone.entries);
		gone = (struct table){0};
		pthread_mutex_unlock(&lock);
		jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, &level);
	}
	stop = true;
	while (!stopped)
		usleep(1000);
	check("HEAP_DUMP", dumps == DUMPS && unloads && !named,
	      "%d dumps, %d classes unloaded, %d dumped when they had been told as unloaded", dumps, unloads, named);
}

static const jint unload_types[] = {JVMPI_EVENT_CLASS_UNLOAD, JVMPI_EVENT_GC_FINISH, 0};

const struct kind kind_unload = {.what = "unload", .types = unload_types, .seen = unload_seen, .dump = unload_dump};
