/* The functions, called from Java code that knows what they should say. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/jvmpi/checker.h"

JNIEXPORT void JNICALL Java_Jvmpi_functions(JNIEnv *env, jclass klass, jobject object);
JNIEXPORT void JNICALL Java_Jvmpi_threads(JNIEnv *env, jclass klass);
JNIEXPORT void JNICALL Java_Jvmpi_describe(JNIEnv *env, jclass klass, jclass sample, jint interfaces, jint methods,
					   jint statics, jint instances, jint line);
JNIEXPORT jint JNICALL Java_Jvmpi_unloaded(JNIEnv *env, jclass klass);
JNIEXPORT jint JNICALL Java_Jvmpi_codeUnloaded(JNIEnv *env, jclass klass);
JNIEXPORT jint JNICALL Java_Jvmpi_dumped(JNIEnv *env, jclass klass);

enum { FRAMES = 64 };

const char *checker_method(jmethodID m)
{
	struct entry *e;
	const char *name;

	pthread_mutex_lock(&checker.lock);
	e = table_find(&checker.methods, m);
	name = e ? e->name : "?";
	pthread_mutex_unlock(&checker.lock);
	return name;
}

JNIEnv *checker_thread(const char *name)
{
	JNIEnv *found = NULL;

	pthread_mutex_lock(&checker.lock);
	for (unsigned i = 0; i < checker.threads.cap; i++) {
		struct entry *e = &checker.threads.entries[i];

		if (e->key && !(e->value & 0x40000000) && e->name && !strcmp(e->name, name))
			found = (JNIEnv *)e->key;
	}
	pthread_mutex_unlock(&checker.lock);
	return found;
}

bool checker_waits(const _Atomic int *v, int value)
{
	for (int i = 0; i < 30000 && *v != value; i++)
		usleep(1000);
	return *v == value;
}

static void thread_check(JNIEnv *env)
{
	jclass klass = (*env)->FindClass(env, "java/lang/Thread");
	jmethodID current = (*env)->GetStaticMethodID(env, klass, "currentThread", "()Ljava/lang/Thread;");
	jobject self = (*env)->CallStaticObjectMethod(env, klass, current);
	jlong before = jvmpi->GetCurrentThreadCpuTime(), after;
	volatile int x = 0;
	int mark = 0;

	if ((*env)->ExceptionCheck(env))
		return;
	check("GetThreadObject", jvmpi->GetThreadObject(env) == jvmpi->jobject2jobjectID(self) && self,
	      "another thread");
	check("GetThreadObject", !jvmpi->GetThreadObject((JNIEnv *)&mark), "of garbage");
	while (x < 20000000)
		x++;
	after = jvmpi->GetCurrentThreadCpuTime();
	check("GetCurrentThreadCpuTime", after - before > 1000000 && after - before < 60000000000, "%lld ns for a loop",
	      (long long)(after - before));
	before = jvmpi->GetCurrentThreadCpuTime();
	usleep(200000);
	after = jvmpi->GetCurrentThreadCpuTime();
	check("GetCurrentThreadCpuTime", after - before < 100000000, "%lld ns for a sleep",
	      (long long)(after - before));
	check("GetThreadLocalStorage", !jvmpi->GetThreadLocalStorage(env), "not empty at first");
	jvmpi->SetThreadLocalStorage(env, &mark);
	check("SetThreadLocalStorage", jvmpi->GetThreadLocalStorage(env) == &mark, "something else");
	check("GetThreadLocalStorage", !jvmpi->GetThreadLocalStorage((JNIEnv *)&mark), "of garbage");
	jvmpi->SetThreadLocalStorage(env, NULL);
}

/* The caller has noted where it calls. */
static jint call_line(JNIEnv *env, jclass klass)
{
	jfieldID field = (*env)->GetStaticFieldID(env, klass, "line", "I");

	return field ? (*env)->GetStaticIntField(env, klass, field) : -1;
}

static void own_trace_check(JNIEnv *env, jclass klass)
{
	JVMPI_CallFrame frames[FRAMES];
	JVMPI_CallTrace t = {env, -1, frames};

	jvmpi->GetCallTrace(&t, FRAMES);
	check("GetCallTrace", t.num_frames == 2, "%d frames of functions, main", t.num_frames);
	if (t.num_frames == 2) {
		check("GetCallTrace",
		      !strcmp(checker_method(frames[0].method_id), "functions") && frames[0].lineno == -3, "%s:%d",
		      checker_method(frames[0].method_id), frames[0].lineno);
		check("GetCallTrace",
		      !strcmp(checker_method(frames[1].method_id), "main") && frames[1].lineno == call_line(env, klass),
		      "%s:%d instead of line %d", checker_method(frames[1].method_id), frames[1].lineno,
		      call_line(env, klass));
	}
	jvmpi->GetCallTrace(&t, 1);
	check("GetCallTrace", t.num_frames == 1, "%d frames of 1", t.num_frames);
	t.env_id = (JNIEnv *)&t;
	jvmpi->GetCallTrace(&t, FRAMES);
	check("GetCallTrace", t.num_frames == 0, "%d frames of garbage", t.num_frames);
}

static unsigned collections(void)
{
	unsigned n;

	pthread_mutex_lock(&checker.lock);
	n = checker.collections;
	pthread_mutex_unlock(&checker.lock);
	return n;
}

static unsigned pauses(void)
{
	unsigned n;

	pthread_mutex_lock(&checker.lock);
	n = checker.count[JVMPI_EVENT_JS_GC_PAUSE & 0xff];
	pthread_mutex_unlock(&checker.lock);
	return n;
}

static void run_gc(void)
{
	checker.runner = env_here();
	jvmpi->RunGC();
	checker.runner = NULL;
}

static _Atomic int disabler_done;

static void disabler_main(void *arg)
{
	(void)arg;
	jvmpi->DisableGC();
	disabler_done = 1;
}

static void gc_check(void)
{
	char name[] = "test disabler";
	unsigned before = collections(), told = pauses();

	/* A thread that ends takes its DisableGC along. */
	check("CreateSystemThread", jvmpi->CreateSystemThread(name, 5, disabler_main) == JNI_OK, "refused");
	check("DisableGC", checker_waits(&disabler_done, 1), "it does not come back");
	for (int i = 0; i < 30000 && checker_thread(name); i++)
		usleep(1000);

	run_gc();
	check("RunGC", collections() > before, "its events were not delivered when it came back");
	check("RunGC", checker.own_starts == 1, "%u of its GC_STARTs on the calling thread", checker.own_starts);
	check("JS_GC_PAUSE", pauses() > told, "a collection without its pause");
	for (int i = 0; i < 3; i++) {
		told = pauses();
		run_gc();
		check("JS_GC_PAUSE", pauses() > told, "collection %d without its pause", i + 2);
	}
	jvmpi->DisableGC();
	jvmpi->DisableGC();
	before = collections();
	run_gc();
	jvmpi->EnableGC();
	usleep(50000);
	check("DisableGC", collections() == before, "a collection was told while GC was disabled");
	jvmpi->EnableGC();
	jvmpi->EnableGC(); /* one too many: ignored */
	run_gc();
	check("EnableGC", collections() > before, "none was told afterwards");
}

static void disable_check(void)
{
	unsigned before;

	jvmpi->DisableGC(); /* not in the midst of a window */
	checker.bare = true;
	check("DisableEvent", jvmpi->DisableEvent(JVMPI_EVENT_GC_FINISH, NULL) == JVMPI_SUCCESS, "refused");
	check("DisableEvent", jvmpi->DisableEvent(JVMPI_EVENT_GC_START, NULL) == JVMPI_SUCCESS, "refused");
	check("DisableEvent", jvmpi->DisableEvent(JVMPI_EVENT_HEAP_DUMP, NULL) == JVMPI_NOT_AVAILABLE, "a dump");
	jvmpi->EnableGC();
	before = collections();
	run_gc();
	check("DisableEvent", collections() == before, "events came nevertheless");
	jvmpi->DisableGC();
	jvmpi->EnableEvent(JVMPI_EVENT_GC_START, NULL);
	jvmpi->EnableEvent(JVMPI_EVENT_GC_FINISH, NULL);
	checker.bare = false;
	jvmpi->EnableGC();
}

JNIEXPORT void JNICALL Java_Jvmpi_functions(JNIEnv *env, jclass klass, jobject object)
{
	own_trace_check(env, klass);
	ids_check(env, klass, object);
	dead_ids_check(env);
	thread_check(env);
	monitors_check(env);
	gc_check();
	disable_check();
	pending_check(env);
}

static void status_is(const char *name, jint expected)
{
	JNIEnv *t = checker_thread(name);
	jint status = t ? jvmpi->GetThreadStatus(t) : -100;

	check("GetThreadStatus", status == expected, "%s: %d instead of %d", name, status, expected);
}

/* How often the spinner went round. */
static jlong rounds(JNIEnv *env, jclass klass)
{
	jfieldID field = (*env)->GetStaticFieldID(env, klass, "rounds", "J");

	return field ? (*env)->GetStaticLongField(env, klass, field) : -1;
}

static void suspension_check(JNIEnv *env, jclass klass, JNIEnv *spinner)
{
	JNIEnv *list[4] = {spinner, spinner, env, (JNIEnv *)&list};
	jint r[4] = {-1, -1, -1, -1};
	JVMPI_CallFrame first[FRAMES], second[FRAMES];
	JVMPI_CallTrace a = {spinner, 0, first}, b = {spinner, 0, second};
	jlong before;

	jvmpi->SuspendThreadList(4, list, r);
	check("SuspendThreadList", r[0] == 0 && r[1] == 14 && r[2] == 10 && r[3] == 10, "results %d %d %d %d", r[0],
	      r[1], r[2], r[3]);
	jvmpi->GetCallTrace(&a, FRAMES);
	before = rounds(env, klass);
	usleep(50000);
	check("SuspendThread", before >= 0 && rounds(env, klass) == before, "a suspended thread runs");
	jvmpi->GetCallTrace(&b, FRAMES);
	check("SuspendThread",
	      a.num_frames == b.num_frames && a.num_frames > 0 &&
		      !memcmp(first, second, (size_t)a.num_frames * sizeof(*first)),
	      "a suspended thread moves");
	check("GetCallTrace", a.num_frames > 1 && !strcmp(checker_method(first[a.num_frames - 1].method_id), "run"),
	      "the outermost frame of a thread is %s",
	      a.num_frames ? checker_method(first[a.num_frames - 1].method_id) : "none");
	/* The class that the JVM makes of the lambda has no table of lines. */
	for (jint i = 0; i < a.num_frames && first[i].lineno != -1; i++)
		check("GetCallTrace", i + 1 < a.num_frames, "none of %d frames is without lines", a.num_frames);
	check("GetThreadStatus", jvmpi->GetThreadStatus(spinner) == JVMPI_THREAD_RUNNABLE, "suspension shows: %x",
	      jvmpi->GetThreadStatus(spinner));
	jvmpi->ResumeThreadList(4, list, r);
	check("ResumeThreadList", r[0] == 0 && r[1] == 13 && r[2] == 13 && r[3] == 10, "results %d %d %d %d", r[0],
	      r[1], r[2], r[3]);
	jvmpi->SuspendThread(env); /* oneself: ignored */
	jvmpi->SuspendThread(spinner);
	jvmpi->ResumeThread(spinner);
	usleep(100000);
	jvmpi->SuspendThread(spinner);
	check("ResumeThread", jvmpi->ThreadHasRun(spinner) == JNI_TRUE, "it does not go on");
	jvmpi->ResumeThread(spinner);
}

/* Suspended and resumed, a thread has run only if it did so by itself. */
static void has_run_check(const char *name, bool expected)
{
	JNIEnv *t = checker_thread(name);
	bool collected = true;

	check("ThreadHasRun", t != NULL, "no thread %s", name);
	for (int i = 0; i < 10 && t; i++) {
		jvmpi->SuspendThread(t);
		jvmpi->ResumeThread(t);
	}
	usleep(100000);
	for (int i = 0; i < 3 && t; i++) {
		unsigned before = collections();
		jboolean r;

		jvmpi->SuspendThread(t);
		r = jvmpi->ThreadHasRun(t);
		jvmpi->ResumeThread(t);
		/* The first look sees what being suspended cost it; a collection may move what registers refer to. */
		check("ThreadHasRun", !i || collected || !!r == expected, "%s: %d", name, r);
		usleep(100000);
		collected = collections() != before;
	}
}

/* What tells the two ways apart: the clock counts native code, and suspension shows Java frames alone. */
static void native_has_run_check(void)
{
	bool by_registers = getenv("JVMPI_CHECKER_REGISTERS");

	for (int i = 0; i < 3; i++) {
		int r = burner_has_run();

		check("ThreadHasRun", r == !by_registers, "in native code, by the %s: %d",
		      by_registers ? "registers" : "clock", r);
	}
}

JNIEXPORT void JNICALL Java_Jvmpi_threads(JNIEnv *env, jclass klass)
{
	JNIEnv *sleeper = checker_thread("sleeper");

	check("GetThreadLocalStorage", sleeper && jvmpi->GetThreadLocalStorage(sleeper) == sleeper, "another thread's");
	status_is("main", JVMPI_THREAD_RUNNABLE);
	status_is("spinner", JVMPI_THREAD_RUNNABLE);
	status_is("acceptor", JVMPI_THREAD_RUNNABLE);
	status_is("sleeper", JVMPI_THREAD_CONDVAR_WAIT);
	status_is("waiter", JVMPI_THREAD_CONDVAR_WAIT);
	status_is("parked", JVMPI_THREAD_CONDVAR_WAIT);
	status_is("blocked", JVMPI_THREAD_MONITOR_WAIT);
	check("GetThreadStatus", jvmpi->GetThreadStatus((JNIEnv *)&env) == JVMPI_FAIL, "garbage has one");
	suspension_check(env, klass, checker_thread("spinner"));
	has_run_check("spinner", true);
	has_run_check("sleeper", false);
	has_run_check("acceptor", false);
	native_has_run_check();
}

JNIEXPORT void JNICALL Java_Jvmpi_describe(JNIEnv *env, jclass klass, jclass sample, jint interfaces, jint methods,
					   jint statics, jint instances, jint line)
{
	(void)env, (void)klass;
	checker.expected.on = true;
	checker.expected.interfaces = interfaces;
	checker.expected.methods = methods;
	checker.expected.statics = statics;
	checker.expected.instances = instances;
	checker.expected.line = line;
	check("RequestEvent",
	      jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, jvmpi->jobject2jobjectID(sample)) == JVMPI_SUCCESS &&
		      !checker.expected.on,
	      "no CLASS_LOAD of Jvmpi.Sample");
}

JNIEXPORT jint JNICALL Java_Jvmpi_unloaded(JNIEnv *env, jclass klass)
{
	(void)env, (void)klass;
	return (jint)checker.count[JVMPI_EVENT_CLASS_UNLOAD];
}

JNIEXPORT jint JNICALL Java_Jvmpi_codeUnloaded(JNIEnv *env, jclass klass)
{
	(void)env, (void)klass;
	return (jint)checker.count[JVMPI_EVENT_COMPILED_METHOD_UNLOAD];
}

JNIEXPORT jint JNICALL Java_Jvmpi_dumped(JNIEnv *env, jclass klass)
{
	(void)env, (void)klass;
	return (jint)checker.count[JVMPI_EVENT_DATA_RESET_REQUEST];
}
