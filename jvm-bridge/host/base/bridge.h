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
 * - No struct lock is held across a call into the JVM, except `steady` (steady_take()).
 * - Functions that an agent may call while it has threads suspended (GetCallTrace, GetThreadStatus, ThreadHasRun,
 *   thread-local storage, ResumeThread) take no lock that a suspended thread may hold.
 * - Garbage collection callbacks only count and wake.
 */
enum {
	AGENTS_MAX = 8,
	AGENT_NAME_MAX = 4096,
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
	_Atomic bool live, dead;
	_Atomic bool ending; /* JVM_SHUT_DOWN is being sent: no other event may begin */
	_Atomic(struct thread *) ender; /* the thread that sends it */
	_Atomic bool started; /* the agents named at JVM start have been started */
	struct lock agents_lock;
	_Atomic unsigned n_agents;
	struct agent *_Atomic loading; /* the agent whose JVM_OnLoad is running */
	struct agent agents[AGENTS_MAX];
	struct lock steady;
};

extern struct bridge the_bridge;

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

/* A suspended thread never holds this lock, so it may be held across JVMTI calls. */
void steady_take(struct thread *t);
void steady_drop(void);

/* vm.c: a GetEnv that knows JVMPI. */
void vm_patch(JavaVM *vm);
void vm_unpatch(void);

/* agent.c. Return -errno; the failure has been printed. */
struct agent *agent_new(const void *base); /* NULL: AGENTS_MAX reached */
/* The agent whose library contains the address; created if new. Late: agent_start() will not be called. */
struct agent *agent_of(const void *caller, bool late);
int agent_host(const char *name, char *options, bool quiet); /* loads the library, runs its JVM_OnLoad */
void agent_start(struct agent *a, JNIEnv *env); /* classes, threads, JVM_INIT_DONE */

/* function.c */
void functions_fill(struct agent *a);

/* event.c */
int event_slot(jint type); /* -1: not an event of JVMPI */
bool agent_wants(const struct agent *a, jint type);
bool anybody_wants(jint type);
jint event_enable(struct agent *a, jint type, bool on);
jint event_request(struct agent *a, jint type, void *arg);
void event_modes_apply(void); /* enables in JVMTI the events that are wanted now */
void events_prepare(struct agent *a); /* enables what was requested early; drops unavailable events */
bool events_want_ids(void); /* some agent wants events that carry ids */

/* support.c */
bool event_capabilities_add(int first, ...); /* bit numbers, ending with -1 */

/* GC_NOT: no object is reported as freed while the agent handles the event. GC_FREES: not sent while GC is disabled. */
enum gc_mode { GC_MAY, GC_NOT, GC_FREES };
/* false: not sent. */
bool event_send(struct agent *a, struct thread *t, JVMPI_Event *e, enum gc_mode mode);
/* To every agent that wants it. */
void event_send_all(struct thread *t, JVMPI_Event *e, enum gc_mode mode);

/* gate.c */
/* Waits during GC windows. false: do not send; the JVM is ending, or GC_FREES and GC is disabled. */
bool gate_enter(struct agent *a, struct thread *t, enum gc_mode mode, bool requested);
void gate_passed(struct agent *a, enum gc_mode mode); /* call right after gate_enter(), just before calling the agent */
void gate_leave(struct agent *a, enum gc_mode mode);
void gate_shut(struct agent *a, struct thread *t); /* only by the holder of the turn */
void gate_open(struct agent *a);
bool gate_quiet(struct agent *a); /* waits briefly until no GC_NOT event is in progress; false: still some */
bool gate_turn_take(struct agent *a, struct thread *t); /* false: another thread has it, or the JVM is ending */
void gate_turn_drop(struct agent *a);
bool gate_turn_wait(struct agent *a, uint64_t ns); /* until no thread has it; false: timeout */
bool gate_disabled(const struct thread *t); /* another thread has called DisableGC, for any agent */
/* Runs f(arg) unless GC is disabled, and keeps it enabled meanwhile; f must not call the agent or the JVM. */
bool gate_free(const struct thread *t, void (*f)(void *), void *arg);
void gate_end(struct thread *t); /* from now on only t gets events; waits for those in progress, at most 2 s */
void gc_disable(struct agent *a);
void gc_enable(struct agent *a);
void gc_enable_all(struct thread *t); /* enables what an ending thread left disabled */

/* gc.c */
void gc_run(struct agent *a);
uint32_t gc_collections(void); /* so far */
void gc_enabled(void); /* nobody has GC disabled any more */
/* Nobody wants ids any more: the pump removes them from their objects, unless somebody wants ids again by then. */
void gc_ids_release(void);
bool gc_pump_wants_code(struct agent *a); /* code_tell_all() on the pump, soon; false: the pump could not be started */
bool gc_pump_start(void); /* starts its thread; idempotent */
void JNICALL on_gc_start(jvmtiEnv *ti);
void JNICALL on_gc_finish(jvmtiEnv *ti);
void JNICALL on_object_free(jvmtiEnv *ti, jlong tag);
void gc_shutdown(void);

/* monitor.c */
JVMPI_RawMonitor monitor_create(char *name);
void monitor_enter(JVMPI_RawMonitor m);
void monitor_exit(JVMPI_RawMonitor m);
void monitor_wait(JVMPI_RawMonitor m, jlong ms);
void monitor_notify_all(JVMPI_RawMonitor m);
void monitor_destroy(JVMPI_RawMonitor m);
bool monitor_owned(void); /* the calling thread owns one */
/* A raw monitor that is owned. */
struct raw_monitor {
	JVMPI_RawMonitor id;
	JNIEnv *owner; /* NULL: not a Java thread */
	uint32_t depth;
	char name[256];
};
size_t monitors_list(struct raw_monitor *ret, size_t max); /* returns the number */

/* trace.c */
void trace_get(JVMPI_CallTrace *trace, jint depth);
void trace_forget(void); /* call after classes were unloaded */
/* Call traces of all threads known to the bridge but its own, up to `depth` frames each; fewer without memory. */
struct traces {
	JVMPI_CallTrace *at;
	jint *status; /* as from GetThreadStatus */
	jint n;
	JVMPI_CallFrame *frames;
};

void traces_get(struct traces *ret, jint depth);
void traces_done(struct traces *t);

/* lines.c: line number tables. */
struct lines {
	jvmtiLineNumberEntry *entries; /* JVMTI's memory */
	jint n; /* -1: no table, -3: native method */
};

void lines_get(jmethodID method, struct lines *ret);
void lines_done(struct lines *l);
jint lines_find(const struct lines *l, jlong bci);
void lines_range(const struct lines *l, jint *first, jint *last);

/* class.c */
void class_tell(struct agent *a, struct thread *t, JNIEnv *env, jclass klass);
void class_tell_of(struct agent *a, struct thread *t, JNIEnv *env, jmethodID method);
bool class_tell_all(struct agent *a, struct thread *t, JNIEnv *env, bool again); /* false: no list of classes */
jint class_request(struct agent *a, struct thread *t, JNIEnv *env, struct object_id *id);
jint method_request(struct agent *a, struct thread *t, JNIEnv *env, jmethodID method);
void class_forget(struct saved_class *s); /* NULL is allowed */
/* The agent got a class's id other than by CLASS_LOAD: report the class's end to it as well. */
void class_met(struct agent *a, JNIEnv *env, jclass klass, struct object_id *id);
bool class_unload_tell(struct agent *a, struct thread *t, struct object_id *id);

/* address.c: offsets of instance fields, addresses of static ones, from the JVM's tables. false: one is missing. */
struct jvm_field {
	const char *type, *name;
	uint64_t *ret;
};
bool jvm_fields_find(const struct jvm_field *f, size_t n);
/* Reads the JVM's own memory; the caller must know that the address is mapped. */
static inline uint64_t jvm_word(uint64_t address)
{
	uint64_t v;

	memcpy(&v, (const void *)(uintptr_t)address, sizeof(v));
	return v;
}
void addresses_init(JNIEnv *env);
jint addresses_request(JNIEnv *env, JVMPI_JS_Addresses *a);

/* registers.c: registers of suspended threads */
void registers_init(uint64_t env_distance); /* env_distance: JNIEnv minus JavaThread */
bool registers_known(void);
uint64_t registers_sum(JNIEnv *env);

/* code.c */
void JNICALL on_code_load(jvmtiEnv *ti, jmethodID method, jint size, const void *addr, jint map_length,
			  const jvmtiAddrLocationMap *map, const void *info);
void JNICALL on_code_unload(jvmtiEnv *ti, jmethodID method, const void *addr);
void JNICALL on_dynamic_code(jvmtiEnv *ti, const char *name, const void *addr, jint length);
void code_tell_all(struct agent *a, struct thread *t, jint requested); /* reports existing code */

#endif
