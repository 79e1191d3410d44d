#ifndef JS_BRIDGE_BRIDGE_H
#define JS_BRIDGE_BRIDGE_H

#include <jvmti.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "jvm-bridge/base/futex.h"
#include "jvm-bridge/jvmpi/jvmpi.h"

/*
 * JVMPI on JVMTI: what the parts of the bridge share.
 *
 * JVMPI's functions carry no context, so a process has one bridge, the_bridge. The first Agent_OnLoad or
 * Agent_OnAttach creates it; it is never freed, because threads may be inside it at any time.
 *
 * Rules that keep the JVM alive:
 * - No struct lock is held across a call into the JVM, except `steady` (steady_lock()).
 * - Functions that an agent may call while it has threads suspended (GetCallTrace, GetThreadStatus, ThreadHasRun,
 *   thread-local storage, ResumeThread) take no lock that a suspended thread may hold.
 * - Garbage collection callbacks only count and wake.
 */
enum {
	AGENTS_MAX = 8,
	AGENT_NAME_MAX = 4096,
	CALL_METHODS_MAX = 8,
	SLOTS = 64, /* for events; see event_slot() */
};

struct thread;
struct object_id;
struct saved_class;

/* A hosted agent, or a library that asked GetEnv for JVMPI. Never freed. */
struct agent {
	JVMPI_Interface iface;
	unsigned index;
	const void *base; /* load address of its library; NULL: not yet known */
	bool lean; /* JS_LEAN */
	_Atomic bool started; /* events may be sent */
	bool failed; /* its JVM_OnLoad failed; it may be tried again */
	_Atomic uint64_t enabled; /* one bit per slot */
	_Atomic bool code_wanted; /* the pump should report existing code to it */
	/* gate.c */
	_Atomic uint32_t gc_not; /* events in progress that carry ids */
	_Atomic uint32_t disabled; /* depth of DisableGC, all threads */
	_Atomic uint32_t entering; /* threads between the gate and the agent */
	_Atomic uint32_t inside; /* handlers in progress */
	_Atomic uint32_t window; /* 1: shut, from the return of GC_START's handler to GC_FINISH */
	_Atomic(struct thread *) window_owner;
	_Atomic(struct thread *) turn; /* the thread that reports collections now; NULL: none */
	_Atomic uint32_t turns; /* turns that have ended */
	_Atomic uint32_t collected; /* collections that were reported to the agent */
};

struct bridge {
	JavaVM *vm;
	const struct JNIInvokeInterface_ *vm_functions; /* the JVM's original */
	jvmtiEnv *ti;
	bool slashes; /* class names in the form of the Classic VM */
	bool by_registers; /* ThreadHasRun compares a checksum of registers instead of the CPU clock */
	/* calls=inserted: has all methods call the bridge, once; false: impossible. NULL: JVMTI reports calls. */
	bool (*insert_calls)(void);
	bool (*insert_allocs)(void); /* has all code report what it allocates, once; false: impossible */
	jmethodID calls[CALL_METHODS_MAX]; /* methods of CALLS_CLASS, which inserted code calls */
	_Atomic unsigned n_calls;
	_Atomic bool live, dead;
	_Atomic bool ending; /* JVM_SHUT_DOWN is being sent: no other event may begin */
	_Atomic(struct thread *) ender; /* the thread that sends it */
	_Atomic bool started; /* the agents named at JVM start have been started */
	struct lock agents_lock;
	_Atomic unsigned n_agents;
	struct agent *_Atomic loading; /* the agent whose JVM_OnLoad is running */
	struct agent agents[AGENTS_MAX];
	struct lock steady;
	_Atomic uintptr_t steady_owner; /* pthread_self(); 0: nobody */
};

extern struct bridge the_bridge;

bool bridge_is_call(jmethodID method); /* one of the_bridge.calls */

/* The JVM is ending: nothing that can be left out is sent any more. */
static inline bool bridge_is_ending(void)
{
	return atomic_load(&the_bridge.ending) || atomic_load(&the_bridge.dead);
}

void bridge_say(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* a line on stderr */
_Noreturn void bridge_freeze(void); /* calls after JVM_SHUT_DOWN never return */
void exit_watch(
	void); /* call once, after the last event: exit() then runs the handler that this registers before the agents' destructors */
void exit_begin(void); /* the calling thread is about to call exit() */
bool exit_is_here(void); /* the calling thread is inside exit() */
JNIEnv *bridge_env(void); /* of the calling thread, or NULL */
void bridge_free(void *p); /* memory that JVMTI allocated; NULL is allowed */
/* JNI must not be called with a pending exception: sets one of the agent's aside meanwhile. NULL is allowed. */
jthrowable bridge_exception_take(JNIEnv *env);
void bridge_exception_put(JNIEnv *env, jthrowable pending);

#endif
