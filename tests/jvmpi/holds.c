/*
 * An agent that holds what others wait for: a lock, disabled collections, a handler, the end of the process. Options:
 * "WHAT FILE", the file being written when it is known; WHAT is
 *
 *     start     whether an event begins while the handler of GC_START has not returned
 *     run       how long RunGC takes, and what was delivered when it is back, for a caller that holds what the handlers
 *               of GC_START and GC_FINISH take
 *     pumped    the same, while the handler of another GC_START waits for the caller
 *     keeper    the same, while a thread that has GC disabled waits for the caller
 *     disable   CLASS_UNLOADs and ids given anew while a thread has GC disabled, by an agent without GC events
 *     stuck     a handler of GC_FINISH that never returns
 *     last      events that begin on other threads while JVM_SHUT_DOWN is handled and behind it
 *     exit      functions called while the process ends, on the thread that ends it
 *     leave     the same behind ProfilerExit
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/jvmpi/check.h"

static struct {
	char what[16], path[4000];
	JVMPI_RawMonitor monitor;
	_Atomic int starts, finishes, loads, unloads, reused;
	_Atomic bool disabled, ending, held, enabled;
	_Atomic int late;
	_Atomic(JNIEnv *) ender;
	pthread_mutex_t lock; /* of ids */
	struct table ids; /* of classes */
} o = {.lock = PTHREAD_MUTEX_INITIALIZER};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool is(const char *what)
{
	return !strcmp(o.what, what);
}

static bool is_run(void)
{
	return is("run") || is("pumped");
}

static void thread(void (*f)(void *))
{
	char name[] = "holder";

	if (jvmpi->CreateSystemThread(name, JVMPI_NORMAL_PRIORITY, f) != JNI_OK)
		say(o.path, "no thread");
}

/* start: the program loads classes all the time, so one comes within 5 s if it may. */
static void start_handle(void)
{
	int before = o.loads;

	if (o.starts > 1)
		return;
	for (int i = 0; i < 5000 && o.loads == before; i++)
		usleep(1000);
	say(o.path, "passed %d", o.loads != before);
}

static void run_main(void *arg)
{
	char text[128];
	double begin;
	int starts, finishes;

	(void)arg;
	jvmpi->RawMonitorEnter(o.monitor);
	starts = o.starts;
	finishes = o.finishes;
	begin = seconds();
	jvmpi->RunGC();
	snprintf(text, sizeof(text), "%s start %d finish %d", seconds() - begin < 5 ? "at once" : "late",
		 o.starts > starts, o.finishes > finishes);
	jvmpi->RawMonitorExit(o.monitor);
	say(o.path, "%s", text);
}

static void monitor_pass(void)
{
	jvmpi->RawMonitorEnter(o.monitor);
	jvmpi->RawMonitorExit(o.monitor);
}

/* Collects as the program does, so that GC_START comes on another thread. */
static void java_collect(void)
{
	JNIEnv *env = env_here();
	jclass klass = (*env)->FindClass(env, "java/lang/System");
	jmethodID gc = klass ? (*env)->GetStaticMethodID(env, klass, "gc", "()V") : NULL;

	if (gc)
		(*env)->CallStaticVoidMethod(env, klass, gc);
	if ((*env)->ExceptionCheck(env))
		(*env)->ExceptionClear(env);
}

/* Five calls: one of them might be fast by chance, or slow. */
static void pumped_main(void *arg)
{
	enum { RUNS = 5 };
	int starts, finishes;
	double begin;
	char text[128];

	(void)arg;
	jvmpi->RawMonitorEnter(o.monitor);
	starts = o.starts;
	java_collect();
	for (int i = 0; i < 60000 && o.starts == starts; i++)
		usleep(1000);
	usleep(100000);
	starts = o.starts;
	finishes = o.finishes;
	begin = seconds();
	for (int i = 0; i < RUNS; i++)
		jvmpi->RunGC();
	snprintf(text, sizeof(text), "%s start %d finish %d", seconds() - begin < 3 ? "at once" : "late",
		 o.starts - starts, o.finishes - finishes);
	jvmpi->RawMonitorExit(o.monitor);
	say(o.path, "%s", text);
}

static void keeper_main(void *arg)
{
	(void)arg;
	jvmpi->DisableGC();
	o.disabled = true;
	monitor_pass();
	o.enabled = true;
	jvmpi->EnableGC();
}

static void kept_main(void *arg)
{
	int before, early;
	double begin;
	char text[128];

	(void)arg;
	jvmpi->RawMonitorEnter(o.monitor);
	thread(keeper_main);
	for (int i = 0; i < 60000 && !o.disabled; i++)
		usleep(1000);
	before = o.finishes;
	begin = seconds();
	jvmpi->RunGC();
	early = o.finishes - before;
	snprintf(text, sizeof(text), "%s early %d", seconds() - begin < 5 ? "at once" : "late", early);
	jvmpi->RawMonitorExit(o.monitor);
	for (int i = 0; i < 60000 && o.finishes == before; i++)
		usleep(1000);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), " afterwards %d", o.enabled && o.finishes > before);
	say(o.path, "%s", text);
}

static void disable_main(void *arg)
{
	char text[128];
	int unloads, reused;

	(void)arg;
	for (int i = 0; i < 60000 && o.unloads < 10; i++)
		usleep(1000);
	jvmpi->DisableGC();
	unloads = o.unloads;
	o.disabled = true;
	for (int i = 0, before = o.loads; i < 3000 || (i < 30000 && o.loads < before + 200); i++)
		usleep(1000);
	unloads = o.unloads - unloads;
	reused = o.reused;
	o.disabled = false;
	snprintf(text, sizeof(text), "%d classes; unloaded %d reused %d", o.loads, unloads, reused);
	unloads = o.unloads;
	jvmpi->EnableGC();
	for (int i = 0; i < 60000 && o.unloads == unloads; i++)
		usleep(1000);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), " afterwards %d", o.unloads > unloads);
	say(o.path, "%s", strchr(text, ';'));
}

/* An id that is given to a class while the one that had it was not told as unloaded. */
static void id_note(jobjectID id, bool gone)
{
	pthread_mutex_lock(&o.lock);
	if (gone) {
		table_drop(&o.ids, id);
	} else {
		o.reused += o.disabled && table_find(&o.ids, id);
		table_add(&o.ids, id, NULL);
	}
	pthread_mutex_unlock(&o.lock);
}

static void at_end(void)
{

	say(o.path, "late %s", o.late ? "some" : "none");
}

/* last: long enough for the program's threads to have thousands. */
static void shut_down(JNIEnv *env)
{
	o.ender = env;
	o.ending = true;
	if (is("last")) {
		if (atexit(at_end))
			say(o.path, "no atexit");
		usleep(700000);
	}
}

/* exit: holds the monitor when the functions begin to keep their callers. */
static void holder_main(void *arg)
{
	(void)arg;
	jvmpi->RawMonitorEnter(o.monitor);
	o.held = true;
	for (;;) {
		jvmpi->GetThreadStatus(NULL);
		usleep(1000);
	}
}

/* What destructors of static objects do. */
static void destructor(void)
{
	if (!jvmpi || (!is("exit") && !is("leave")))
		return;
	jvmpi->DisableEvent(JVMPI_EVENT_CLASS_LOAD, NULL);
	jvmpi->RawMonitorEnter(o.monitor);
	jvmpi->RawMonitorWait(o.monitor, 0);
	jvmpi->RawMonitorNotifyAll(o.monitor);
	jvmpi->RawMonitorExit(o.monitor);
	jvmpi->RawMonitorDestroy(o.monitor);
	jvmpi->GetThreadObject(NULL);
	jvmpi->RunGC();
	say(o.path, "%s", jvmpi->GetCurrentThreadCpuTime() > 0 ? "destroyed" : "no time");
}

__attribute__((constructor)) static void construct(void)
{
	if (atexit(destructor))
		abort();
}

static void leave_main(void *arg)
{
	(void)arg;
	while (!o.held)
		usleep(1000);
	jvmpi->ProfilerExit(9);
}

static void init_done(void)
{
	if (is("run"))
		thread(run_main);
	if (is("pumped"))
		thread(pumped_main);
	if (is("keeper"))
		thread(kept_main);
	if (is("disable"))
		thread(disable_main);
	if (is("exit") || is("leave"))
		thread(holder_main);
	if (is("leave"))
		thread(leave_main);
}

static void notify(JVMPI_Event *e)
{
	if (o.ending && e->env_id != o.ender)
		o.late++;
	switch (e->event_type) {
	case JVMPI_EVENT_CLASS_LOAD:
		o.loads++;
		id_note(e->u.class_load.class_id, false);
		break;
	case JVMPI_EVENT_CLASS_UNLOAD:
		o.unloads++;
		id_note(e->u.class_unload.class_id, true);
		break;
	case JVMPI_EVENT_GC_START:
		o.starts++;
		if (is("start"))
			start_handle();
		if (is_run())
			monitor_pass();
		break;
	case JVMPI_EVENT_GC_FINISH:
		if (is("stuck"))
			say(o.path, "stuck");
		while (is("stuck"))
			pause();
		if (is_run())
			monitor_pass();
		o.finishes++;
		break;
	case JVMPI_EVENT_JVM_INIT_DONE: init_done(); break;
	case JVMPI_EVENT_JVM_SHUT_DOWN: shut_down(e->env_id); break;
	}
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	static char name[] = "holds";

	(void)reserved;
	if (!options || sscanf(options, "%15s %3999s", o.what, o.path) != 2 || !interface_get(vm, JVMPI_VERSION_1_2))
		return JNI_ERR;
	o.monitor = jvmpi->RawMonitorCreate(name);
	jvmpi->NotifyEvent = notify;
	jvmpi->EnableEvent(JVMPI_EVENT_JVM_INIT_DONE, NULL);
	jvmpi->EnableEvent(JVMPI_EVENT_JVM_SHUT_DOWN, NULL);
	if (!is("stuck")) /* the thread that calls System.exit() is not to have another event */
		jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD, NULL);
	if (is("disable"))
		jvmpi->EnableEvent(JVMPI_EVENT_CLASS_UNLOAD, NULL);
	if (is("start") || is_run() || is("keeper") || is("stuck")) {
		jvmpi->EnableEvent(JVMPI_EVENT_GC_START, NULL);
		jvmpi->EnableEvent(JVMPI_EVENT_GC_FINISH, NULL);
	}
	return JNI_OK;
}
