/*
 * What the interface does at its edges. Options: "WHAT FILE", the file being written when it is known; WHAT is
 *
 *     frozen   which functions came back to their caller behind JVM_SHUT_DOWN
 *     suspend  the result of suspending another thread. This library is an agent of JVMTI, too: loaded as
 *              one before the bridge, it holds can_suspend, which is exclusive
 *     lent     can_suspend asked for by another environment: while a thread is suspended, and when it is not; then
 *              the result of suspending, and how often two threads that suspend and resume all the time were refused
 *     has_run  what ThreadHasRun says of a thread in native code
 *     refused  what EnableEvent(COMPILED_METHOD_LOAD) answers in a JVM_OnLoad before the JVM lives. Loaded before the bridge
 *              with the option "refuse", this library has the JVM refuse the capability that it takes
 */
#include <jvmti.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/jvmpi/check.h"

static struct {
	char what[16], path[4000];
	JNIEnv *other; /* of a thread of the JVM */
	JVMPI_RawMonitor monitor;
} o;

/* Each function that should not come back, with arguments that do no harm. */
#define FUNCTIONS(F)                                                                                                   \
	F(EnableEvent, JVMPI_EVENT_CLASS_LOAD, NULL)                                                                   \
	F(DisableEvent, JVMPI_EVENT_CLASS_LOAD, NULL)                                                                  \
	F(RequestEvent, JVMPI_EVENT_CLASS_LOAD, NULL)                                                                  \
	F(GetCallTrace, &(JVMPI_CallTrace){0}, 0)                                                                      \
	F(RawMonitorCreate, (char[]){"late"})                                                                          \
	F(RawMonitorEnter, o.monitor)                                                                                  \
	F(RawMonitorExit, o.monitor)                                                                                   \
	F(RawMonitorWait, o.monitor, 1)                                                                                \
	F(RawMonitorNotifyAll, o.monitor)                                                                              \
	F(RawMonitorDestroy, NULL)                                                                                     \
	F(GetCurrentThreadCpuTime)                                                                                     \
	F(SuspendThread, NULL)                                                                                         \
	F(ResumeThread, NULL)                                                                                          \
	F(GetThreadStatus, NULL)                                                                                       \
	F(ThreadHasRun, NULL)                                                                                          \
	F(CreateSystemThread, (char[]){"late"}, JVMPI_NORMAL_PRIORITY, NULL)                                           \
	F(SetThreadLocalStorage, NULL, NULL)                                                                           \
	F(GetThreadLocalStorage, NULL)                                                                                 \
	F(DisableGC)                                                                                                   \
	F(EnableGC)                                                                                                    \
	F(RunGC)                                                                                                       \
	F(GetThreadObject, NULL)                                                                                       \
	F(GetMethodClass, NULL)                                                                                        \
	F(jobjectID2jobject, NULL)                                                                                     \
	F(jobject2jobjectID, NULL)                                                                                     \
	F(SuspendThreadList, 0, NULL, NULL)                                                                            \
	F(ResumeThreadList, 0, NULL, NULL)

#define CALL(name, ...)                                                                                                \
	static void call_##name(void)                                                                                  \
	{                                                                                                              \
		(void)jvmpi->name(__VA_ARGS__);                                                                        \
	}
FUNCTIONS(CALL)

#define ENTRY(name, ...) {#name, call_##name, 0, 0},
static struct call {
	const char *name;
	void (*f)(void);
	_Atomic int begun, back;
} calls[] = {FUNCTIONS(ENTRY)};

enum { CALLS = sizeof(calls) / sizeof(*calls) };

static void *call_run(void *arg)
{
	struct call *c = arg;

	c->begun = 1;
	c->f();
	c->back = 1;
	return NULL;
}

/* The process ends, and the JVM has ended. Who comes back needs microseconds. */
static void after_the_end(void)
{
	char text[2048] = "";
	size_t n;

	for (unsigned i = 0; i < CALLS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, call_run, &calls[i]))
			return say(o.path, "no thread\n");
		for (int ms = 0; ms < 30000 && !calls[i].begun; ms++)
			usleep(1000);
	}
	usleep(200000);
	n = (size_t)snprintf(text, sizeof(text), "called %d, back:", CALLS);
	for (unsigned i = 0; i < CALLS && n < sizeof(text); i++)
		if (calls[i].back)
			n += (size_t)snprintf(text + n, sizeof(text) - n, " %s", calls[i].name);
	say(o.path, "%s", text);
}

static void suspend_other(void)
{
	jint suspended = -1, resumed = -1;

	jvmpi->SuspendThreadList(1, &o.other, &suspended);
	jvmpi->ResumeThreadList(1, &o.other, &resumed);
	say(o.path, "suspended %d resumed %d", (int)suspended, (int)resumed);
}

static jvmtiError suspend_take(jvmtiEnv *ti)
{
	const jvmtiCapabilities suspend = {.can_suspend = 1};

	return (*ti)->AddCapabilities(ti, &suspend);
}

static _Atomic int refusals, pairs_left = 2;

static void pairs_main(void *arg)
{
	enum { PAIRS = 3000, INVALID = 10 };

	(void)arg;
	for (int i = 0; i < PAIRS; i++) {
		jint r = -1;

		jvmpi->SuspendThreadList(1, &o.other, &r);
		refusals += r == INVALID;
		jvmpi->ResumeThreadList(1, &o.other, &r);
	}
	pairs_left--;
}

static void lent(JNIEnv *env)
{
	const jvmtiCapabilities suspend = {.can_suspend = 1};
	char name[] = "pairs";
	jint suspended = -1, refused_one = -1;
	jvmtiError during, after;
	void *ti = NULL;
	JavaVM *vm;

	if ((*env)->GetJavaVM(env, &vm) || (*vm)->GetEnv(vm, &ti, JVMTI_VERSION_1_2))
		return say(o.path, "no JVMTI");
	jvmpi->SuspendThreadList(1, &o.other, &suspended);
	during = suspend_take(ti);
	jvmpi->ResumeThread(o.other);
	after = suspend_take(ti);
	jvmpi->SuspendThreadList(1, &o.other, &refused_one);
	(*(jvmtiEnv *)ti)->RelinquishCapabilities(ti, &suspend);
	for (int i = pairs_left; i; i--)
		jvmpi->CreateSystemThread(name, JVMPI_NORMAL_PRIORITY, pairs_main);
	for (int i = 0; i < 60000 && pairs_left; i++)
		usleep(1000);
	say(o.path, "suspended %d, during %d after %d, then %d, pairs %d refused %d", (int)suspended, (int)during,
	    (int)after, (int)refused_one, pairs_left, refusals);
}

static void has_run(void)
{

	say(o.path, "has run %d", burner_has_run());
}

static void refused(void)
{

	say(o.path, "answer %d", (int)jvmpi->EnableEvent(JVMPI_EVENT_COMPILED_METHOD_LOAD, NULL));
}

static jvmtiError(JNICALL *add_capabilities)(jvmtiEnv *, const jvmtiCapabilities *);

static jvmtiError JNICALL add_fewer_capabilities(jvmtiEnv *ti, const jvmtiCapabilities *wanted)
{
	return wanted->can_generate_compiled_method_load_events ? JVMTI_ERROR_NOT_AVAILABLE :
								  add_capabilities(ti, wanted);
}

/* One table serves all environments. */
static jint refuse(jvmtiEnv *ti)
{
	struct jvmtiInterface_1_ *table;

	memcpy(&table, ti, sizeof(table));
	add_capabilities = table->AddCapabilities;
	table->AddCapabilities = add_fewer_capabilities;
	return JNI_OK;
}

static void notify(JVMPI_Event *e)
{
	switch (e->event_type) {
	case JVMPI_EVENT_THREAD_START:
		if (!strcmp(e->u.thread_start.thread_name, "Signal Dispatcher"))
			o.other = e->u.thread_start.thread_env_id;
		break;
	case JVMPI_EVENT_JVM_INIT_DONE:
		if (!strcmp(o.what, "suspend"))
			suspend_other();
		if (!strcmp(o.what, "lent"))
			lent(e->env_id);
		if (!strcmp(o.what, "has_run"))
			has_run();
		break;
	case JVMPI_EVENT_JVM_SHUT_DOWN:
		if (!strcmp(o.what, "frozen") && atexit(after_the_end))
			say(o.path, "no atexit\n");
		break;
	}
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	static char name[] = "edges";

	(void)reserved;
	if (!options || sscanf(options, "%15s %3999s", o.what, o.path) != 2 || !interface_get(vm, JVMPI_VERSION_1_2))
		return JNI_ERR;
	if (!strcmp(o.what, "refused"))
		refused();
	o.monitor = jvmpi->RawMonitorCreate(name);
	jvmpi->NotifyEvent = notify;
	jvmpi->EnableEvent(JVMPI_EVENT_THREAD_START, NULL);
	jvmpi->EnableEvent(JVMPI_EVENT_JVM_INIT_DONE, NULL);
	jvmpi->EnableEvent(JVMPI_EVENT_JVM_SHUT_DOWN, NULL);
	return JNI_OK;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	const jvmtiCapabilities suspend = {.can_suspend = 1};
	void *ti = NULL;

	(void)reserved;
	if ((*vm)->GetEnv(vm, &ti, JVMTI_VERSION_1_2))
		return JNI_ERR;
	if (options && !strcmp(options, "refuse"))
		return refuse(ti);
	return (*(jvmtiEnv *)ti)->AddCapabilities(ti, &suspend) ? JNI_ERR : JNI_OK;
}
