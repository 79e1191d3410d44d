#ifndef JS_BRIDGE_THREAD_H
#define JS_BRIDGE_THREAD_H

#include "jvm-bridge/host/base/bridge.h"
#include "jvm-bridge/host/definition.h"

/* In all states but the first, the thread takes no lock that its resumer may need. */
enum suspension {
	SUSPENDED_NOT,
	SUSPENDED,
	SUSPENDED_RESUMING, /* somebody is resuming it */
	SUSPENDED_BEGINNING, /* somebody is suspending it */
};

enum carrier { CARRIER_UNKNOWN, CARRIER_NO, CARRIER_YES };

/*
 * A Java thread as JVMPI knows it: by its JNIEnv. Records are looked up without a lock and never freed, because
 * JNIEnv addresses are reused and a lookup may come from anywhere; a thread that gets the JNIEnv of one that ended
 * gets its record, emptied.
 */
struct thread {
	JNIEnv *env;
	struct thread *next; /* in the bucket */
	_Atomic(jobject) ref; /* global; NULL: ended */
	_Atomic uint32_t users; /* threads using ref now */
	_Atomic uint32_t tid; /* kernel's; 0: unknown */
	struct definition definition; /* by THREAD_START */
	_Atomic uint32_t suspended; /* by an agent: enum suspension */
	_Atomic uint32_t carrier; /* carries virtual threads: enum carrier */
	jobject stopped; /* global, while `suspended`: the virtual thread that was suspended instead of this one */
	_Atomic uint64_t cpu; /* ns when it was last resumed */
	_Atomic uint64_t sum, sum_before; /* checksums of registers at the last two suspensions; 0: none */
	_Atomic(JVMPI_RawMonitor) raw_enters, raw_waits; /* that it waits for in RawMonitorEnter, in RawMonitorWait */
	struct stacks *_Atomic stacks; /* stacks=signal; NULL: never suspended */
	void *_Atomic tls[AGENTS_MAX];
	_Atomic unsigned gc_off[AGENTS_MAX]; /* depth of DisableGC; written by the thread itself */
	/* Only used by the thread itself. */
	unsigned inside; /* depth of NotifyEvent */
	unsigned gc_not; /* how many of them are for GC_NOT events */
	JNIEnv *contended_owner; /* the owner of the monitor that it waits to enter, when the wait began */
	uint64_t wait_began; /* of Object.wait(), ns of CLOCK_MONOTONIC; 0: not waiting */
	struct steps *steps; /* step.c; NULL: never stepped */
	struct hook_memory *hook; /* hook.c: memory of the CLASS_LOAD_HOOK being handled */
	bool raw; /* it is reporting a raw monitor */
	bool in_alloc; /* it is reporting an allocation that the JVM makes, maybe in the midst of linking a class */
	jobject made; /* whose constructor is reporting it, or the array that code is reporting; NULL: none */
	struct agent *asks; /* agent whose RequestEvent causes JVMTI's events now; NULL: none */
	jint asks_as; /* JVMPI_REQUESTED_EVENT, or 0 */
	struct asking *asking; /* the class loaders that it is asking, for calls=inserted; NULL: none */
	struct calls *calls; /* that it is in, with calls=inserted; NULL: never any */
	struct allocs *allocs; /* alloc.c: to be sent later; NULL: sent at once */
	bool system; /* one of the bridge's: cannot be suspended, never "has run" */
};

struct thread *thread_find(JNIEnv *env); /* NULL: unknown */
struct thread *thread_of(struct object_id *id, JNIEnv *env); /* the thread of that java.lang.Thread; NULL: unknown */
struct thread *thread_of_object(jobject object, JNIEnv *env); /* the same, by the object */
struct thread *thread_current(void); /* makes the record; NULL: not a Java thread, or out of memory */
struct thread *thread_add(JNIEnv *env, jthread thread);
/* Those that existed before the bridge. Returns how far a JNIEnv is from the JVM's JavaThread; 0: unknown. */
uint64_t threads_find_existing(JNIEnv *env);
void thread_each(void (*f)(struct thread *t, void *arg), void *arg);

/* A local reference to its java.lang.Thread, or NULL. */
jobject thread_object(struct thread *t, JNIEnv *env);
bool thread_is_carrier(struct thread *t); /* of virtual threads; only of the calling thread */
/* Likewise the virtual thread running on it: carrier.c. NULL: none. */
jobject thread_mounted(struct thread *t, JNIEnv *env, jobject thread);
void thread_announce(struct agent *a, struct thread *about, struct thread *t, jint requested);
void threads_announce(struct agent *a, struct thread *t, jint requested);

void JNICALL on_thread_start(jvmtiEnv *ti, JNIEnv *env, jthread thread);
void JNICALL on_thread_end(jvmtiEnv *ti, JNIEnv *env, jthread thread);

/* May its event be sent? What an agent's handler does is not reported, since that would call the handler again. */
static inline bool thread_may_report(const struct thread *t)
{
	return t && !t->inside && !t->system && !atomic_load(&the_bridge.dead);
}

/* Waits, in native state, while an agent has the calling thread suspended. false: it was not suspended. */
bool thread_suspended_wait(struct thread *t);
jint thread_status(JNIEnv *env);
jboolean thread_has_run(JNIEnv *env);
void thread_suspend_list(jint n, JNIEnv **envs, jint *results);
bool threads_are_suspended(void); /* any, by an agent */
void thread_resume_list(jint n, JNIEnv **envs, jint *results);
jint thread_create(const char *name, jint priority, void (*f)(void *), void *arg);

/* A suspended thread never holds this lock, so it may be held across JVMTI calls. */
void steady_lock(struct thread *t);
void steady_unlock(void);
bool steady_is_mine(void);
/* The same if the calling thread may have the lock already. */
bool steady_enter(void);
void steady_leave(bool entered);

#endif
