#ifndef JS_BRIDGE_THREAD_H
#define JS_BRIDGE_THREAD_H

#include "jvm-bridge/host/bridge.h"
#include "jvm-bridge/host/told.h"

/* All but the first: the thread takes nothing that its resumer may need. */
enum suspension {
	SUSPENDED_NOT,
	SUSPENDED,
	SUSPENDED_RESUMING, /* somebody resumes it */
	SUSPENDED_BEGINNING, /* somebody suspends it */
};

enum carrier { CARRIER_UNKNOWN, CARRIER_NO, CARRIER_YES };

/*
 * A Java thread as JVMPI knows it: by its JNIEnv. Records are found without a lock and are never
 * freed, because addresses of JNIEnv recur and a lookup may come from anywhere; a thread that gets the
 * address of one that ended gets its record, emptied.
 */
struct thread {
	JNIEnv *env;
	struct thread *next; /* of the bucket */
	_Atomic(jobject) ref; /* global; NULL: ended */
	_Atomic uint32_t users; /* of ref */
	_Atomic uint32_t tid; /* kernel's; 0: unknown */
	struct told told; /* by THREAD_START */
	_Atomic uint32_t suspended; /* by an agent: enum suspension */
	_Atomic uint32_t carrier; /* of virtual threads: enum carrier */
	jobject stopped; /* global, while `suspended`: the virtual thread that was, instead of this one */
	_Atomic uint64_t cpu; /* ns when it was last resumed */
	_Atomic uint64_t sum, sum_before; /* of registers at the last two suspensions; 0: there was none */
	_Atomic(JVMPI_RawMonitor) raw_enters, raw_waits; /* what it waits for in RawMonitorEnter, in RawMonitorWait */
	void *_Atomic tls[AGENTS_MAX];
	/* Of the thread itself. */
	unsigned inside; /* depth of NotifyEvent */
	unsigned gc_not; /* of them with GC disabled */
	unsigned gc_off[AGENTS_MAX]; /* depth of DisableGC */
	JNIEnv *contended_owner; /* of the monitor that it waits to enter, when it began to */
	uint64_t wait_began; /* ns of CLOCK_MONOTONIC: Object.wait(); 0: it does not */
	struct steps *steps; /* step.c; NULL: it was not stepped */
	struct hook_memory *hook; /* hook.c: of the CLASS_LOAD_HOOK that is handled */
	bool raw; /* it tells of a raw monitor */
	struct agent *asks; /* whose RequestEvent makes JVMTI's events now */
	jint asks_as; /* JVMPI_REQUESTED_EVENT, or 0 */
	bool system; /* ours: not suspended, never has run */
};

struct thread *thread_find(JNIEnv *env); /* NULL: unknown */
struct thread *thread_of(struct object_id *id, JNIEnv *env); /* the one whose java.lang.Thread that is; NULL */
struct thread *thread_of_object(jobject object, JNIEnv *env); /* the same by the object */
struct thread *thread_current(void); /* makes the record; NULL: no Java thread, or no memory */
struct thread *thread_add(JNIEnv *env, jthread thread);
void threads_learn(JNIEnv *env); /* those that were there before us */
void thread_each(void (*f)(struct thread *t, void *arg), void *arg);

/* A local reference to its java.lang.Thread, or NULL. */
jobject thread_object(struct thread *t, JNIEnv *env);
/* And to the virtual thread that runs on it: carrier.c. NULL: none. */
jobject thread_carried(struct thread *t, JNIEnv *env, jobject thread);
void thread_announce(struct agent *a, struct thread *about, struct thread *t, jint requested);
void threads_announce(struct agent *a, struct thread *t, jint requested);

void JNICALL on_thread_start(jvmtiEnv *ti, JNIEnv *env, jthread thread);
void JNICALL on_thread_end(jvmtiEnv *ti, JNIEnv *env, jthread thread);

/* Waits, in native state, while an agent has the calling thread suspended. false: it had not. */
bool thread_suspended_wait(struct thread *t);
jint thread_status(JNIEnv *env);
jboolean thread_has_run(JNIEnv *env);
void thread_suspend_list(jint n, JNIEnv **envs, jint *results);
void thread_resume_list(jint n, JNIEnv **envs, jint *results);
jint thread_create(const char *name, jint priority, void (*f)(void *), void *arg);

#endif
