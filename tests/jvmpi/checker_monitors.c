/* Raw monitors, and the threads that an agent makes. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/jvmpi/checker.h"

static struct {
	JVMPI_RawMonitor m;
	_Atomic int phase, entered, other, wakes;
	JNIEnv *_Atomic env;
} side;

static void side_main(void *arg)
{
	side.env = env_here();
	check("CreateSystemThread", arg == NULL, "f got %p", arg);
	jvmpi->RawMonitorExit(side.m); /* a stranger's: ignored */
	jvmpi->RawMonitorWait(side.m, 100000); /* a stranger's: at once */
	jvmpi->RawMonitorEnter(side.m);
	side.entered = 1;
	while (!side.phase) {
		jvmpi->RawMonitorWait(side.m, 0);
		side.wakes++;
	}
	jvmpi->RawMonitorExit(side.m);
	side.entered = 2;
}

static void other_main(void *arg)
{
	(void)arg;
	jvmpi->RawMonitorEnter(side.m);
	side.other = 1;
	while (!side.phase)
		jvmpi->RawMonitorWait(side.m, 0);
	jvmpi->RawMonitorExit(side.m);
	side.other = 2;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A method of java.lang.Thread without parameters; the result of one that answers a boolean. */
static bool thread_call(JNIEnv *env, JNIEnv *about, const char *method, const char *signature)
{
	jobject thread = jvmpi->jobjectID2jobject(jvmpi->GetThreadObject(about));
	jclass klass = (*env)->FindClass(env, "java/lang/Thread");
	jmethodID id = klass ? (*env)->GetMethodID(env, klass, method, signature) : NULL;
	bool r = false;

	if (!thread || !id)
		check("GetThreadObject", false, "no thread to ask %s", method);
	else if (signature[2] == 'Z')
		r = (*env)->CallBooleanMethod(env, thread, id);
	else
		(*env)->CallVoidMethod(env, thread, id);
	if ((*env)->ExceptionCheck(env))
		(*env)->ExceptionClear(env);
	return r;
}

static void side_begin(JNIEnv *env)
{
	char name[] = "test monitor", thread[] = "test side", other[] = "test other";

	side.m = jvmpi->RawMonitorCreate(name);
	check("RawMonitorCreate", side.m != NULL, "none");
	check("RawMonitorCreate", (unsigned long)side.m >> 31 == 0, "not below 2 GB: %p", (void *)side.m);
	jvmpi->RawMonitorEnter(side.m);
	jvmpi->RawMonitorEnter(side.m);
	check("CreateSystemThread", jvmpi->CreateSystemThread(thread, 5, side_main) == JNI_OK, "refused");
	check("CreateSystemThread", jvmpi->CreateSystemThread(other, 5, other_main) == JNI_OK, "refused");
	for (int i = 0; i < 30000 && !side.env; i++)
		usleep(1000);
	check("CreateSystemThread", checker_thread("test side") == side.env && side.env,
	      "no THREAD_START with its env");
	check("CreateSystemThread", thread_call(env, side.env, "isDaemon", "()Z"), "no daemon");
}

static void side_check(JNIEnv *env)
{
	double begin;

	side_begin(env);
	jvmpi->RawMonitorExit(side.m);
	usleep(50000);
	check("RawMonitorEnter", side.entered == 0 && side.other == 0, "entered twice, exited once, and another is in");
	check("RawMonitorExit", side.entered == 0 && side.other == 0, "a stranger has exited it");
	begin = seconds();
	jvmpi->RawMonitorWait(side.m, 50);
	check("RawMonitorWait", seconds() - begin >= 0.049, "back after %.3f s of 0.05", seconds() - begin);
	jvmpi->RawMonitorExit(side.m);
	check("RawMonitorWait", checker_waits(&side.entered, 1) && checker_waits(&side.other, 1),
	      "the monitor was not given up while waiting");
	/* They wait for ever now, and gave it back. */
	thread_call(env, side.env, "interrupt", "()V");
	usleep(50000);
	check("RawMonitorWait", side.wakes == 0, "an interrupt ended it");
	jvmpi->RawMonitorEnter(side.m);
	side.phase = 1;
	jvmpi->RawMonitorNotifyAll(side.m);
	check("RawMonitorNotifyAll", side.entered == 1, "the waiter goes on while the monitor is held");
	jvmpi->RawMonitorExit(side.m);
	check("RawMonitorExit", checker_waits(&side.entered, 2), "the waiter never got it");
	check("RawMonitorNotifyAll", checker_waits(&side.entered, 2) && checker_waits(&side.other, 2),
	      "a waiter still waits");
}

/* Native code of a suspended thread runs on; a monitor is nothing that it gets. */
static struct {
	JVMPI_RawMonitor m;
	JNIEnv *_Atomic env;
	_Atomic int go, went, entered;
} stopped;

static void stopped_main(void *arg)
{
	(void)arg;
	stopped.env = env_here();
	for (int i = 0; i < 60000 && !stopped.go; i++)
		usleep(1000);
	stopped.went = stopped.go;
	jvmpi->RawMonitorEnter(stopped.m);
	stopped.entered = 1;
	jvmpi->RawMonitorExit(stopped.m);
}

static void suspended_check(void)
{
	char name[] = "test stopped";

	stopped.m = jvmpi->RawMonitorCreate(name);
	check("CreateSystemThread", jvmpi->CreateSystemThread(name, 5, stopped_main) == JNI_OK, "refused");
	for (int i = 0; i < 30000 && !stopped.env; i++)
		usleep(1000);
	jvmpi->SuspendThread(stopped.env);
	jvmpi->SuspendThread(stopped.env); /* ignored: one resumption is enough */
	stopped.go = 1;
	check("SuspendThread", checker_waits(&stopped.went, 1), "native code does not run on");
	usleep(50000);
	jvmpi->RawMonitorEnter(stopped.m);
	check("SuspendThread", !stopped.entered, "a suspended thread got a raw monitor");
	jvmpi->RawMonitorExit(stopped.m);
	jvmpi->ResumeThread(stopped.env);
	check("ResumeThread", checker_waits(&stopped.entered, 1), "the resumed thread never got the monitor");
}

/* Who waits for a monitor that is destroyed, and the next one in its place. */
static struct {
	JVMPI_RawMonitor m;
	_Atomic int entering, waiting, back;
} gone;

static void entering_main(void *arg)
{
	(void)arg;
	gone.entering = 1;
	jvmpi->RawMonitorEnter(gone.m);
	jvmpi->RawMonitorExit(gone.m);
	gone.back++;
}

static void waiting_main(void *arg)
{
	(void)arg;
	jvmpi->RawMonitorEnter(gone.m);
	gone.waiting = 1;
	jvmpi->RawMonitorWait(gone.m, 0);
	jvmpi->RawMonitorExit(gone.m);
	gone.back++;
}

static void destroy_check(void)
{
	char name[] = "test gone";
	JVMPI_RawMonitor held;

	gone.m = held = jvmpi->RawMonitorCreate(name);
	check("CreateSystemThread", jvmpi->CreateSystemThread(name, 5, waiting_main) == JNI_OK, "refused");
	check("RawMonitorWait", checker_waits(&gone.waiting, 1), "no thread waits");
	jvmpi->RawMonitorEnter(held);
	check("CreateSystemThread", jvmpi->CreateSystemThread(name, 5, entering_main) == JNI_OK, "refused");
	check("RawMonitorEnter", checker_waits(&gone.entering, 1), "no thread enters");
	usleep(20000);
	jvmpi->RawMonitorDestroy(held);
	check("RawMonitorDestroy", checker_waits(&gone.back, 2), "%d of 2 threads came back", gone.back);
	jvmpi->RawMonitorEnter(held); /* ignored now, as NULL is */
	jvmpi->RawMonitorEnter(NULL);
	jvmpi->RawMonitorExit(NULL);
}

/* One that another thread has is destroyed: the next one in its place is free. */
static struct {
	JVMPI_RawMonitor m, next;
	_Atomic int owned, destroyed, exited, entered;
} taken;

static void owner_main(void *arg)
{
	(void)arg;
	jvmpi->RawMonitorEnter(taken.m);
	taken.owned = 1;
	checker_waits(&taken.destroyed, 1);
	jvmpi->RawMonitorExit(taken.m);
	taken.exited = 1;
}

static void next_main(void *arg)
{
	(void)arg;
	jvmpi->RawMonitorEnter(taken.next);
	taken.entered++;
	jvmpi->RawMonitorExit(taken.next);
}

static void taken_check(void)
{
	char name[] = "test taken";
	JVMPI_RawMonitor early;

	taken.m = jvmpi->RawMonitorCreate(name);
	check("CreateSystemThread", jvmpi->CreateSystemThread(name, 5, owner_main) == JNI_OK, "refused");
	check("RawMonitorEnter", checker_waits(&taken.owned, 1), "no thread owns it");
	jvmpi->RawMonitorDestroy(taken.m);
	early = jvmpi->RawMonitorCreate(name);
	check("RawMonitorDestroy", early != taken.m, "its owner has it, and it is given to others");
	taken.destroyed = 1;
	check("RawMonitorExit", checker_waits(&taken.exited, 1), "its owner does not come back");
	taken.next = jvmpi->RawMonitorCreate(name);
	check("RawMonitorDestroy", taken.next == taken.m, "its place is not used again");
	check("CreateSystemThread", jvmpi->CreateSystemThread(name, 5, next_main) == JNI_OK, "refused");
	check("RawMonitorDestroy", checker_waits(&taken.entered, 1), "the next one in its place is locked");
	jvmpi->RawMonitorDestroy(early);
	jvmpi->RawMonitorDestroy(taken.next);
}

/* Many, one in the place of the one that is gone; all can be had at once. */
static void many_check(void)
{
	enum { MANY = 2000 };
	JVMPI_RawMonitor *m = calloc(MANY, sizeof(*m));
	char name[] = "_many";

	for (int i = 0; i < MANY && m; i++) {
		m[i] = jvmpi->RawMonitorCreate(name);
		check("RawMonitorCreate", m[i] && (!i || m[i] != m[i - 1]), "number %d", i);
		check("RawMonitorCreate", (unsigned long)m[i] >> 31 == 0, "number %d: not below 2 GB: %p", i,
		      (void *)m[i]);
		jvmpi->RawMonitorEnter(m[i]);
	}
	for (int i = 0; i < MANY && m; i++)
		jvmpi->RawMonitorDestroy(m[i]);
	free(m);
}

void monitors_check(JNIEnv *env)
{
	side_check(env);
	suspended_check();
	destroy_check();
	taken_check();
	many_check();
	jvmpi->RawMonitorEnter(side.m);
	jvmpi->RawMonitorDestroy(side.m);
}
