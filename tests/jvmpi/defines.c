/*
 * An agent that looks at what it is told before it is used, and when it goes. Options: "WHAT FILE", the file being written
 * when it is known; WHAT is
 *
 *     order       events on a thread whose THREAD_START has not been handled yet; its handler is slow
 *     unprepared  CLASS_LOAD of a class that was asked for before it was linked
 *     overtaken   the same, and it is linked while the handler of what was asked for runs
 *     met         CLASS_UNLOAD of classes that are known through GetMethodClass only, and what is known of them then
 *     lines       lines of a method before and behind a redefinition of its class; the third option is the new class file
 *     carrier     what a thread does that carries a virtual one, which computes
 *     count       CLASS_LOADs until JVM_INIT_DONE
 *     code        the code that was there before: COMPILED_METHOD_LOADs until JVM_INIT_DONE, and once the event is enabled
 *                 a second time
 */
#include <jvmti.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/jvmpi/check.h"

enum { ENOUGH = 20 };

static struct {
	char what[16], path[2000], file[2000];
	pthread_mutex_t lock; /* of threads */
	struct table threads;
	_Atomic int early, handled, classes, met, gone, named;
	_Atomic(jobjectID) asked;
	_Atomic int answered, methods;
	_Atomic int last; /* methods of the class as its last handler that returned knew it */
	jobjectID going;
	_Atomic bool redefined;
	JNIEnv *main; /* or the carrier */
	jmethodID busy;
	_Atomic int code;
} o = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is(const char *what)
{
	return !strcmp(o.what, what);
}

/* order */

static void order_note(const JVMPI_Event *e)
{
	bool started = e->event_type == JVMPI_EVENT_THREAD_START;

	/* From here on it has events, and its definition is not handled yet. */
	if (started && !strcmp(e->u.thread_start.thread_name, "dropper-0")) {
		jvmpi->EnableEvent(JVMPI_EVENT_CLASS_LOAD, NULL);
		usleep(300000);
	}
	pthread_mutex_lock(&o.lock);
	if (started)
		table_add(&o.threads, e->u.thread_start.thread_env_id, NULL);
	else
		o.early += !table_find(&o.threads, e->env_id);
	o.handled++;
	pthread_mutex_unlock(&o.lock);
}

static void order_main(void *arg)
{
	int before = o.handled;

	(void)arg;
	for (int i = 0; i < 60000 && o.handled < before + 50; i++)
		usleep(1000);
	say(o.path, "early %s", o.early ? "some" : "none");
}

/* Calls f for each loaded class of that signature; local references are its to keep. */
static void classes_each(const char *signature, void (*f)(JNIEnv *, jvmtiEnv *, jclass))
{
	JNIEnv *env = env_here();
	void *ti = NULL;
	jclass *list = NULL;
	jint n = 0;

	if ((*java_vm)->GetEnv(java_vm, &ti, JVMTI_VERSION_1_2) || (*env)->PushLocalFrame(env, 16))
		return;
	if ((*(jvmtiEnv *)ti)->GetLoadedClasses(ti, &n, &list) || (*env)->EnsureLocalCapacity(env, 64))
		n = 0;
	for (jint i = 0; i < n; i++) {
		char *name = NULL;

		if (!(*(jvmtiEnv *)ti)->GetClassSignature(ti, list[i], &name, NULL) && !strcmp(name, signature))
			f(env, ti, list[i]);
		(*(jvmtiEnv *)ti)->Deallocate(ti, (unsigned char *)name);
	}
	(*(jvmtiEnv *)ti)->Deallocate(ti, (unsigned char *)list);
	(*env)->PopLocalFrame(env, NULL);
	(*(jvmtiEnv *)ti)->DisposeEnvironment(ti);
}

/* unprepared */

static void unprepared_ask(JNIEnv *env, jvmtiEnv *ti, jclass klass)
{
	jint status = 0;

	(void)env;
	(*ti)->GetClassStatus(ti, klass, &status);
	if (status & JVMTI_CLASS_STATUS_PREPARED)
		return say(o.path, "it is prepared");
	o.asked = jvmpi->jobject2jobjectID(klass);
	if (jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, o.asked) != JVMPI_SUCCESS)
		say(o.path, "refused");
}

static void unprepared_main(void *arg)
{
	(void)arg;
	for (int i = 0; i < 3000 && !o.asked; i++) {
		classes_each("LJvmpi$Late;", unprepared_ask);
		usleep(10000);
	}
	say(o.path, "answered %d", o.answered);
	for (int i = 0; i < 10000 && !o.methods; i++)
		usleep(1000);
	say(o.path, "answered %d, then its CLASS_LOAD with %s", o.answered, o.methods ? "methods" : "none");
}

/* overtaken */

static void overtaken_main(void *arg)
{
	(void)arg;
	for (int i = 0; i < 3000 && !o.asked; i++) {
		classes_each("LJvmpi$Late;", unprepared_ask);
		usleep(10000);
	}
	say(o.path, "last %s", o.last ? "whole" : "without methods");
}

static void overtaken_wait(void)
{
	say(o.path, "in the handler");
	for (int i = 0; i < 10000 && !o.methods; i++)
		usleep(1000);
}

static void asked_seen(const JVMPI_Event *e)
{
	if (!(e->event_type & JVMPI_REQUESTED_EVENT))
		o.methods = e->u.class_load.num_methods;
	else if (++o.answered == 1 && is("overtaken"))
		overtaken_wait();
	o.last = e->u.class_load.num_methods;
}

/* met */

static void method_met(JNIEnv *env, jvmtiEnv *ti, jclass klass)
{
	jmethodID *methods = NULL;
	jint n = 0;

	(void)env;
	if ((*ti)->GetClassMethods(ti, klass, &n, &methods) || !n)
		return;
	o.met += jvmpi->GetMethodClass(methods[0]) != NULL;
	(*ti)->Deallocate(ti, (unsigned char *)methods);
}

static void met_main(void *arg)
{
	(void)arg;
	for (int i = 0; i < 600 && o.gone < ENOUGH; i++) {
		classes_each("LThrowaway;", method_met);
		usleep(50000);
	}
	say(o.path, "unloaded %s, named %s", o.gone >= ENOUGH ? "many" : "few", o.named >= o.gone ? "all" : "not all");
}

/* lines */

enum { CLASS_MAX = 1 << 16, FRAMES = 16, LATER = 1000 }; /* the new lines are all above that, the old ones below */

static void late_redefine(JNIEnv *env, jvmtiEnv *ti, jclass klass)
{
	const jvmtiCapabilities redefine = {.can_redefine_classes = 1};
	static unsigned char bytes[CLASS_MAX];
	jvmtiClassDefinition to = {klass, 0, bytes};
	FILE *f = fopen(o.file, "re");

	(void)env;
	if (!f)
		return;
	to.class_byte_count = (jint)fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	o.redefined = !(*ti)->AddCapabilities(ti, &redefine) && !(*ti)->RedefineClasses(ti, 1, &to);
}

/* The line of Jvmpi$Late.busy(), which the thread is in all the time; 0: it is not. */
static jint late_line(void)
{
	JVMPI_CallFrame frames[FRAMES];
	JVMPI_CallTrace trace = {o.main, 0, frames};

	jvmpi->GetCallTrace(&trace, FRAMES);
	for (jint i = 0; i < trace.num_frames; i++)
		if (frames[i].method_id == o.busy)
			return frames[i].lineno;
	return 0;
}

static void lines_main(void *arg)
{
	jint before = 0, line = 0;

	(void)arg;
	for (int i = 0; i < 10000 && !before; i++) {
		usleep(1000);
		before = late_line();
	}
	classes_each("LJvmpi$Late;", late_redefine);
	/*
	 * The old line is not told any more when what was known of it is a second old. The thread may be at another line of
	 * the method by then.
	 */
	for (int i = 0; i < 5000 && line <= LATER; i++) {
		usleep(1000);
		line = late_line();
	}
	say(o.path, "redefined %d, line %d, then %d", o.redefined, before, line);
}

/* carrier */

enum { LOOKS = 50 };

/* What the virtual thread computes. */
static jlong sink(JNIEnv *env)
{
	jclass klass = (*env)->FindClass(env, "Jvmpi");
	jfieldID field = klass ? (*env)->GetStaticFieldID(env, klass, "sink", "J") : NULL;
	jlong v = field ? (*env)->GetStaticLongField(env, klass, field) : 0;

	if (klass)
		(*env)->DeleteLocalRef(env, klass);
	return v;
}

static bool runs_on_suspended(JNIEnv *env)
{
	jlong before;
	bool on;

	jvmpi->SuspendThread(o.main);
	usleep(50000);
	before = sink(env);
	usleep(100000);
	on = sink(env) != before;
	jvmpi->ResumeThread(o.main);
	return on;
}

static void carrier_main(void *arg)
{
	int runs = 0, in = 0;

	(void)arg;
	for (int i = 0; i < LOOKS; i++) {
		usleep(10000);
		runs += jvmpi->GetThreadStatus(o.main) == JVMPI_THREAD_RUNNABLE;
		in += late_line() > 0;
	}
	say(o.path, "%s, %s, %s", runs > LOOKS / 2 ? "runs" : "waits", in > LOOKS / 2 ? "its frames" : "other frames",
	    runs_on_suspended(env_here()) ? "runs on" : "stops");
}

/* code: the program does nothing that would be compiled. */
static void code_main(void *arg)
{
	int before = o.code;

	(void)arg;
	jvmpi->DisableEvent(JVMPI_EVENT_COMPILED_METHOD_LOAD, NULL);
	o.code = 0;
	jvmpi->EnableEvent(JVMPI_EVENT_COMPILED_METHOD_LOAD, NULL);
	for (int i = 0; i < 10000 && o.code < ENOUGH; i++)
		usleep(1000);
	say(o.path, "%s then %s", before >= ENOUGH ? "many" : "few", o.code >= ENOUGH ? "many" : "few");
}

static void class_seen(const JVMPI_Event *e)
{
	o.classes += !(e->event_type & JVMPI_REQUESTED_EVENT);
	if ((is("lines") || is("carrier")) && !strcmp(e->u.class_load.class_name, "Jvmpi$Late"))
		for (jint i = 0; i < e->u.class_load.num_methods; i++)
			if (!strcmp(e->u.class_load.methods[i].method_name, "busy")) {
				o.main = e->env_id;
				o.busy = e->u.class_load.methods[i].method_id;
				jvmpi->CreateSystemThread(e->u.class_load.class_name, JVMPI_NORMAL_PRIORITY,
							  is("lines") ? lines_main : carrier_main);
			}
	if (o.asked && e->u.class_load.class_id == o.asked)
		asked_seen(e);
	if (o.going && e->u.class_load.class_id == o.going)
		o.named += !strcmp(e->u.class_load.class_name, "Throwaway");
}

static void notify(JVMPI_Event *e)
{
	static char name[] = "definer";
	jint type = e->event_type & ~JVMPI_REQUESTED_EVENT;

	if (is("order") && type != JVMPI_EVENT_JVM_INIT_DONE)
		order_note(e);
	switch (type) {
	case JVMPI_EVENT_CLASS_LOAD: class_seen(e); break;
	case JVMPI_EVENT_CLASS_UNLOAD:
		o.going = e->u.class_unload.class_id;
		jvmpi->RequestEvent(JVMPI_EVENT_CLASS_LOAD, o.going);
		o.going = NULL;
		o.gone++;
		break;
	case JVMPI_EVENT_COMPILED_METHOD_LOAD: o.code++; break;
	case JVMPI_EVENT_JVM_INIT_DONE:
		if (is("count"))
			say(o.path, "%d", o.classes);
		else if (!is("lines") && !is("carrier"))
			jvmpi->CreateSystemThread(name, JVMPI_NORMAL_PRIORITY,
						  is("order")     ? order_main :
						  is("met")       ? met_main :
						  is("code")      ? code_main :
						  is("overtaken") ? overtaken_main :
								    unprepared_main);
		break;
	}
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	(void)reserved;
	if (!options || sscanf(options, "%15s %1999s %1999s", o.what, o.path, o.file) < 2 ||
	    !interface_get(vm, JVMPI_VERSION_1_2))
		return JNI_ERR;
	jvmpi->NotifyEvent = notify;
	jvmpi->EnableEvent(JVMPI_EVENT_JVM_INIT_DONE, NULL);
	if (!is("order"))
		jvmpi->EnableEvent(is("met") ? JVMPI_EVENT_CLASS_UNLOAD : JVMPI_EVENT_CLASS_LOAD, NULL);
	if (is("code"))
		jvmpi->EnableEvent(JVMPI_EVENT_COMPILED_METHOD_LOAD, NULL);
	if (is("order"))
		jvmpi->EnableEvent(JVMPI_EVENT_THREAD_START, NULL);
	return JNI_OK;
}
