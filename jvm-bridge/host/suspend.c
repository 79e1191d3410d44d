/* Suspending threads, and the functions that agents call for suspended threads. */
#include <pthread.h>
#include <stdlib.h>

#include "jvm-bridge/host/base/registers.h"
#include "jvm-bridge/host/refs.h"
#include "jvm-bridge/host/support.h"
#include "jvm-bridge/host/thread.h"

/* Result codes of the thread lists: JVMDI's numbers, as in HotSpot. */
enum { LIST_OK = 0, LIST_INVALID = 10, LIST_SUSPENDED = 14, LIST_NOT_SUSPENDED = 13 };

/* Only one environment can have it, so the bridge has it only while threads are suspended. */
enum { CAN_SUSPEND = 20 };

static _Atomic uint32_t n_suspended; /* becomes greater with the steady lock held only */
static _Atomic bool has_capability;

bool threads_are_suspended(void)
{
	return atomic_load(&n_suspended);
}

static bool suspension_begin(void)
{
	if (!event_capabilities_add(CAN_SUSPEND, -1))
		return false;
	atomic_store(&has_capability, true);
	atomic_fetch_add(&n_suspended, 1);
	return true;
}

/*
 * Gives the capability back if nobody is suspended any more. Whoever has the steady lock calls this behind it, so
 * nobody waits for the lock here. The caller is not suspended once it has the lock and the count is 0.
 */
static void capability_release(void)
{
	while (atomic_load(&has_capability) && !atomic_load(&n_suspended) && lock_try(&the_bridge.steady)) {
		if (!atomic_load(&n_suspended) && atomic_exchange(&has_capability, false))
			event_capability_drop(CAN_SUSPEND);
		lock_drop(&the_bridge.steady);
	}
}

/*
 * CPU time of a thread, ns. If its tid is known, its clock is read without entering the JVM, by the kernel's encoding
 * of a thread's CPU clock: linux/posix-timers.h CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED.
 */
static bool cpu_time(struct thread *t, uint64_t *ret)
{
	JNIEnv *env = bridge_env();
	uint32_t tid = atomic_load(&t->tid);
	jobject object;
	jlong ns = 0;
	int r;

	if (tid) {
		*ret = clock_ns((clockid_t)((~tid << 3) | 6));
		return *ret != 0;
	}
	if (!env || !event_capabilities_add(23, -1)) /* can_get_thread_cpu_time */
		return false;
	object = thread_object(t, env);
	if (!object)
		return false;
	r = (*the_bridge.ti)->GetThreadCpuTime(the_bridge.ti, object, &ns);
	(*env)->DeleteLocalRef(env, object);
	*ret = (uint64_t)ns;
	return r == 0;
}

/* A carrier runs as long as it has a virtual thread: suspend that, which then stays on its carrier. */
static jvmtiError suspend_now(JNIEnv *self, struct thread *t, jobject object)
{
	jobject carried = thread_mounted(t, self, object);
	jvmtiError r;

	if (!carried)
		return (*the_bridge.ti)->SuspendThread(the_bridge.ti, object);
	t->stopped = ref_new(self, carried);
	r = t->stopped ? (*the_bridge.ti)->SuspendThread(the_bridge.ti, carried) : JVMTI_ERROR_OUT_OF_MEMORY;
	if (r && t->stopped) {
		ref_delete(self, t->stopped);
		t->stopped = NULL;
	}
	(*self)->DeleteLocalRef(self, carried);
	return r;
}

static void resume_now(JNIEnv *self, struct thread *t, jobject object)
{
	(*the_bridge.ti)->ResumeThread(the_bridge.ti, t->stopped ? t->stopped : object);
	if (t->stopped)
		ref_delete(self, t->stopped);
	t->stopped = NULL;
}

static void suspension_undo(struct thread *t)
{
	atomic_store(&t->suspended, SUSPENDED_NOT);
	futex_wake_all(&t->suspended);
}

static jint suspend_one(JNIEnv *self, struct thread *t)
{
	uint32_t not = SUSPENDED_NOT;
	jobject object;
	jvmtiError r;

	if (!t || t->env == self || t->system)
		return LIST_INVALID;
	/* Set before it stops, so that it sees the state; it can be resumed only after it has stopped. */
	if (!atomic_compare_exchange_strong(&t->suspended, &not, SUSPENDED_BEGINNING))
		return LIST_SUSPENDED;
	if (!suspension_begin()) {
		suspension_undo(t);
		return LIST_INVALID;
	}
	object = thread_object(t, self);
	r = object ? suspend_now(self, t, object) : JVMTI_ERROR_INVALID_THREAD;
	if (object)
		(*self)->DeleteLocalRef(self, object);
	if (!r && registers_known()) {
		atomic_store(&t->sum_before, atomic_load(&t->sum));
		atomic_store(&t->sum, registers_sum(t->env));
	}
	if (r) {
		atomic_fetch_sub(&n_suspended, 1);
		suspension_undo(t);
		return r == JVMTI_ERROR_THREAD_SUSPENDED ? LIST_SUSPENDED : LIST_INVALID;
	}
	atomic_store(&t->suspended, SUSPENDED);
	futex_wake_all(&t->suspended);
	return LIST_OK;
}

static jint resume_one(JNIEnv *self, struct thread *t)
{
	uint32_t suspended = SUSPENDED;
	jobject object;
	uint64_t cpu = 0;

	if (!t)
		return LIST_INVALID;
	/* Only one of two resumers may continue: the other might resume the next suspension. */
	if (!atomic_compare_exchange_strong(&t->suspended, &suspended, SUSPENDED_RESUMING))
		return LIST_NOT_SUSPENDED;
	/* CPU time spent on being stopped does not count as running: measure from here. */
	if (cpu_time(t, &cpu))
		atomic_store(&t->cpu, cpu);
	object = thread_object(t, self);
	if (object) {
		resume_now(self, t, object);
		(*self)->DeleteLocalRef(self, object);
	}
	suspension_undo(t);
	atomic_fetch_sub(&n_suspended, 1);
	return object ? LIST_OK : LIST_INVALID;
}

void thread_suspend_list(jint n, JNIEnv **envs, jint *results)
{
	JNIEnv *self = bridge_env();
	struct thread *t = thread_current();

	for (jint i = 0; i < n; i++) {
		jint r = LIST_INVALID;

		if (self && t) {
			/* No thread may be suspended while it holds the steady lock. */
			steady_lock(t);
			r = suspend_one(self, thread_find(envs[i]));
			steady_unlock();
		}
		if (results)
			results[i] = r;
	}
}

void thread_resume_list(jint n, JNIEnv **envs, jint *results)
{
	JNIEnv *self = bridge_env();

	for (jint i = 0; i < n; i++) {
		jint r = self ? resume_one(self, thread_find(envs[i])) : LIST_INVALID;

		if (results)
			results[i] = r;
	}
	capability_release();
}

/*
 * A thread waits for the lock in native state, where it counts as suspended although it runs: if it gets the lock
 * while suspended, it gives it back before it calls the JVM.
 */
void steady_lock(struct thread *t)
{
	for (;;) {
		lock_take(&the_bridge.steady);
		if (!t || !atomic_load(&t->suspended)) {
			atomic_store(&the_bridge.steady_owner, (uintptr_t)pthread_self());
			return;
		}
		lock_drop(&the_bridge.steady);
		thread_suspended_wait(t);
	}
}

bool thread_suspended_wait(struct thread *t)
{
	uint32_t v = t ? atomic_load(&t->suspended) : SUSPENDED_NOT;
	bool was = v != SUSPENDED_NOT;

	for (; v != SUSPENDED_NOT; v = atomic_load(&t->suspended))
		futex_wait(&t->suspended, v, 0);
	return was;
}

void steady_unlock(void)
{
	atomic_store(&the_bridge.steady_owner, 0);
	lock_drop(&the_bridge.steady);
	capability_release();
}

bool steady_is_mine(void)
{
	return atomic_load(&the_bridge.steady_owner) == (uintptr_t)pthread_self();
}

bool steady_enter(void)
{
	if (steady_is_mine())
		return false;
	steady_lock(thread_find(bridge_env()));
	return true;
}

void steady_leave(bool entered)
{
	if (entered)
		steady_unlock();
}

jint thread_status(JNIEnv *id)
{
	JNIEnv *env = bridge_env();
	struct thread *t = thread_find(id);
	jobject object = t && env ? thread_object(t, env) : NULL, carried;
	jint state = 0, status = JVMPI_THREAD_RUNNABLE;

	if (!object)
		return JVMPI_FAIL;
	carried = thread_mounted(t, env, object);
	(*the_bridge.ti)->GetThreadState(the_bridge.ti, carried ? carried : object, &state);
	if (carried)
		(*env)->DeleteLocalRef(env, carried);
	(*env)->DeleteLocalRef(env, object);
	if (t->system)
		return JVMPI_THREAD_CONDVAR_WAIT;
	if (state & JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER)
		status = JVMPI_THREAD_MONITOR_WAIT;
	else if (state & (JVMTI_THREAD_STATE_WAITING | JVMTI_THREAD_STATE_SLEEPING))
		status = JVMPI_THREAD_CONDVAR_WAIT;
	if (state & JVMTI_THREAD_STATE_INTERRUPTED)
		status |= JVMPI_THREAD_INTERRUPTED;
	/* SuspendThread is not shown, only java.lang.Thread.suspend (up to JDK 19) and debuggers. */
	if ((state & JVMTI_THREAD_STATE_SUSPENDED) && !atomic_load(&t->suspended))
		status |= JVMPI_THREAD_SUSPENDED;
	return status;
}

/*
 * The paper compares a checksum of the registers at two stops: that is has_run=registers. But here a thread in native
 * code keeps running, and a collection that moves objects changes the registers of a thread that did not run. Its CPU
 * clock tells exactly, at the price of one system call.
 */
jboolean thread_has_run(JNIEnv *id)
{
	struct thread *t = thread_find(id);
	uint64_t now;

	if (!t || t->system || !atomic_load(&t->ref))
		return JNI_FALSE;
	if (registers_known())
		return atomic_load(&t->sum) != atomic_load(&t->sum_before) ? JNI_TRUE : JNI_FALSE;
	if (!cpu_time(t, &now))
		return JNI_FALSE;
	return now != atomic_load(&t->cpu) ? JNI_TRUE : JNI_FALSE;
}

struct start {
	void (*f)(void *);
	void *arg;
};

static void JNICALL thread_main(jvmtiEnv *ti, JNIEnv *env, void *arg)
{
	struct start start = *(struct start *)arg;

	(void)ti, (void)env;
	free(arg);
	start.f(start.arg);
}

/* A daemon thread in the system group. Local reference, or NULL. */
static jobject thread_object_new(JNIEnv *env, const char *name)
{
	jclass klass = (*env)->FindClass(env, "java/lang/Thread");
	jmethodID init, daemon;
	jthreadGroup *groups = NULL;
	jint n = 0;
	jstring text;
	jobject object;

	if (!klass)
		return NULL;
	init = (*env)->GetMethodID(env, klass, "<init>", "(Ljava/lang/ThreadGroup;Ljava/lang/String;)V");
	daemon = init ? (*env)->GetMethodID(env, klass, "setDaemon", "(Z)V") : NULL;
	text = daemon ? (*env)->NewStringUTF(env, name) : NULL;
	if (!text || (*the_bridge.ti)->GetTopThreadGroups(the_bridge.ti, &n, &groups) || n < 1)
		return NULL;
	object = (*env)->NewObject(env, klass, init, groups[0], text);
	bridge_free(groups);
	if (!object || (*env)->ExceptionCheck(env))
		return NULL;
	(*env)->CallVoidMethod(env, object, daemon, JNI_TRUE);
	return (*env)->ExceptionCheck(env) ? NULL : object;
}

jint thread_create(const char *name, jint priority, void (*f)(void *), void *arg)
{
	JNIEnv *env = atomic_load(&the_bridge.live) ? bridge_env() : NULL;
	struct start *start;
	jobject object;
	jint r = JNI_ERR;

	if (!env || !f || (*env)->PushLocalFrame(env, 16))
		return JNI_ERR;
	object = thread_object_new(env, name ? name : "");
	if ((*env)->ExceptionCheck(env))
		(*env)->ExceptionClear(env);
	start = object ? malloc(sizeof(*start)) : NULL;
	if (start) {
		*start = (struct start){f, arg};
		priority = priority < 1 ? 1 : priority > 10 ? 10 : priority;
		if (!(*the_bridge.ti)->RunAgentThread(the_bridge.ti, object, thread_main, start, priority))
			r = JNI_OK;
		else
			free(start);
	}
	(*env)->PopLocalFrame(env, NULL);
	return r;
}
