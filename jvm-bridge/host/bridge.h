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
 * JVMPI's functions carry no context, so there is one bridge in a process, the_bridge, made by the
 * first Agent_OnLoad or Agent_OnAttach and never freed: threads may be inside it at any time.
 *
 * Rules that keep a JVM alive:
 * - No lock of struct lock is held over a call into the JVM, except `steady` (steady_take()).
 * - What an agent may call while it has threads suspended (GetCallTrace, GetThreadStatus,
 *   ThreadHasRun, thread-local storage, ResumeThread) takes no lock that a suspended thread may hold.
 * - Callbacks of the garbage collector only count and wake.
 */
enum {
	AGENTS_MAX = 8,
	AGENT_NAME_MAX = 4096,
	SLOTS = 64, /* of events; see event_slot() */
};

struct thread;
struct object_id;
struct saved_class;

/* A hosted agent, or a library that asked GetEnv for JVMPI. Never freed. */
struct agent {
	JVMPI_Interface iface;
	unsigned index;
	const void *base; /* load address of its library; NULL: not known yet */
	bool lean; /* JS_LEAN */
	_Atomic bool started; /* events may be sent */
	bool failed; /* its JVM_OnLoad did; it may be tried again */
	_Atomic uint64_t enabled; /* bit a slot */
	_Atomic bool code_wanted; /* the pump tells it of the code that there is */
	/* gate.c */
	_Atomic uint32_t gc_not; /* events under way that carry ids */
	_Atomic uint32_t disabled; /* by DisableGC */
	_Atomic uint32_t entering; /* threads between the gate and the agent */
	_Atomic uint32_t inside; /* handlers under way */
	_Atomic uint32_t window; /* 1: shut, from the return of GC_START's handler to GC_FINISH */
	_Atomic(struct thread *) window_owner;
	_Atomic(struct thread *) turn; /* who tells of collections now; NULL: nobody */
	_Atomic uint32_t turns; /* that ended */
	_Atomic uint32_t collected; /* collections that the agent was told of */
};

struct bridge {
	JavaVM *vm;
	const struct JNIInvokeInterface_ *vm_functions; /* the JVM's own */
	jvmtiEnv *ti;
	bool slashes; /* class names as Classic had them */
	bool by_registers; /* ThreadHasRun: by a checksum instead of the CPU clock */
	_Atomic bool live, dead;
	_Atomic bool ending; /* JVM_SHUT_DOWN is being sent: no other event begins */
	_Atomic(struct thread *) ender; /* the thread that sends it */
	_Atomic bool started; /* the agents of the JVM's start are */
	struct lock agents_lock;
	_Atomic unsigned n_agents;
	struct agent *_Atomic loading; /* whose JVM_OnLoad runs */
	struct agent agents[AGENTS_MAX];
	struct lock steady;
};

extern struct bridge the_bridge;

void bridge_say(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* a line on stderr */
_Noreturn void bridge_freeze(void); /* what is called after JVM_SHUT_DOWN stays */
void exit_watch(
	void); /* once, behind the last event: exit() finds agents' destructors later than what this registers */
void exit_begin(void); /* the calling thread calls exit() now */
bool exit_is_here(void); /* the calling thread is inside exit() */
JNIEnv *bridge_env(void); /* of this thread, or NULL */
void bridge_free(void *p); /* memory of JVMTI; NULL is fine */
/* An exception that is the agent's is put aside while JNI is called, which must not be called with one. NULL is fine. */
jthrowable bridge_exception_take(JNIEnv *env);
void bridge_exception_put(JNIEnv *env, jthrowable pending);

/* A lock that is never held by a suspended thread, so that it may be held over JVMTI calls. */
void steady_take(struct thread *t);
void steady_drop(void);

/* vm.c: GetEnv that knows JVMPI. */
void vm_patch(JavaVM *vm);
void vm_unpatch(void);

/* agent.c. -errno; what failed was said. */
struct agent *agent_new(const void *base); /* NULL: AGENTS_MAX */
/* Of the library that the address is in; makes it. Late: no agent_start() comes. */
struct agent *agent_of(const void *caller, bool late);
int agent_host(const char *name, char *options, bool quiet); /* loads the library, runs its JVM_OnLoad */
void agent_start(struct agent *a, JNIEnv *env); /* classes, threads, JVM_INIT_DONE */

/* function.c */
void functions_fill(struct agent *a);

/* event.c */
int event_slot(jint type); /* -1: no event that there can be */
bool agent_wants(const struct agent *a, jint type);
bool anybody_wants(jint type);
jint event_enable(struct agent *a, jint type, bool on);
jint event_request(struct agent *a, jint type, void *arg);
void event_modes_apply(void); /* tells JVMTI what is wanted now */
void events_prepare(struct agent *a); /* what was enabled before the JVM lived; drops what cannot be had */
bool events_want_ids(void); /* some agent does */

/* support.c */
bool event_capabilities_add(int first, ...); /* bit numbers, ending with -1 */

/* GC_NOT: nothing is told as freed while the agent has the event. GC_FREES: not sent while GC is disabled. */
enum gc_mode { GC_MAY, GC_NOT, GC_FREES };
/* false: not sent. */
bool event_send(struct agent *a, struct thread *t, JVMPI_Event *e, enum gc_mode mode);
/* To every agent that wants it. */
void event_send_all(struct thread *t, JVMPI_Event *e, enum gc_mode mode);

/* gate.c */
/* Waits in GC windows. false: not to be sent, because the JVM ends, or with GC_FREES because GC is disabled. */
bool gate_enter(struct agent *a, struct thread *t, enum gc_mode mode, bool requested);
void gate_passed(struct agent *a, enum gc_mode mode); /* at once behind it, right before the agent is called */
void gate_leave(struct agent *a, enum gc_mode mode);
void gate_shut(struct agent *a, struct thread *t); /* by whoever has the turn */
void gate_open(struct agent *a);
bool gate_quiet(struct agent *a); /* waits a little until no GC_NOT event is under way */
bool gate_turn_take(struct agent *a, struct thread *t); /* false: it is another's, or the JVM ends */
void gate_turn_drop(struct agent *a);
bool gate_turn_wait(struct agent *a, uint64_t ns); /* until it is nobody's */
bool gate_disabled(const struct thread *t); /* by DisableGC of any agent, on another thread */
/* Runs f(arg) if GC is not disabled, and nobody gets it disabled meanwhile; f calls nobody. */
bool gate_free(const struct thread *t, void (*f)(void *), void *arg);
void gate_end(struct thread *t); /* from here on only t has events; waits for those under way, 2 s at most */
void gc_disable(struct agent *a);
void gc_enable(struct agent *a);
void gc_enable_all(struct thread *t); /* what a thread that ends left disabled */

/* gc.c */
void gc_run(struct agent *a);
uint32_t gc_collections(void); /* so far */
void gc_enabled(void); /* nobody has it disabled any more */
void gc_ids_release(void); /* nobody wants ids any more: the pump takes them off their objects, if it is still so */
bool gc_pump_wants_code(struct agent *a); /* code_tell_all() on the pump, soon; false: there is no pump */
bool gc_pump_start(void); /* its thread is there; idempotent */
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
bool monitor_owned(void); /* by the calling thread, any */
/* Of one that somebody owns. */
struct raw_monitor {
	JVMPI_RawMonitor id;
	JNIEnv *owner; /* NULL: no thread of Java */
	uint32_t depth;
	char name[256];
};
size_t monitors_list(struct raw_monitor *ret, size_t max); /* how many */

/* trace.c */
void trace_get(JVMPI_CallTrace *trace, jint depth);
void trace_forget(void); /* after classes were unloaded */
/* Of all threads that the bridge knows, but its own; as many frames as there are, `depth` at most. Whatever memory there is. */
struct traces {
	JVMPI_CallTrace *at;
	jint *status; /* as GetThreadStatus says */
	jint n;
	JVMPI_CallFrame *frames;
};

void traces_get(struct traces *ret, jint depth);
void traces_done(struct traces *t);

/* lines.c: line number tables. */
struct lines {
	jvmtiLineNumberEntry *entries; /* of JVMTI */
	jint n; /* -1: no table, -3: native method */
};

void lines_get(jmethodID method, struct lines *ret);
void lines_done(struct lines *l);
jint lines_find(const struct lines *l, jlong bci);
void lines_range(const struct lines *l, jint *first, jint *last);

/* class.c */
void class_tell(struct agent *a, struct thread *t, JNIEnv *env, jclass klass);
void class_tell_of(struct agent *a, struct thread *t, JNIEnv *env, jmethodID method);
bool class_tell_all(struct agent *a, struct thread *t, JNIEnv *env, bool again); /* false: they cannot be had */
jint class_request(struct agent *a, struct thread *t, JNIEnv *env, struct object_id *id);
jint method_request(struct agent *a, struct thread *t, JNIEnv *env, jmethodID method);
void class_forget(struct saved_class *s); /* NULL is fine */
/* The agent has got the id of a class otherwise than by CLASS_LOAD: it hears of the class's end as well. */
void class_met(struct agent *a, JNIEnv *env, jclass klass, struct object_id *id);
bool class_unload_tell(struct agent *a, struct thread *t, struct object_id *id);

/* address.c: offsets of fields, addresses of static ones, by the tables of the JVM. False: one is missing. */
struct jvm_field {
	const char *type, *name;
	uint64_t *ret;
};
bool jvm_fields_find(const struct jvm_field *f, size_t n);
/* Of the JVM's own memory: what lives there is for the caller to know. */
static inline uint64_t jvm_word(uint64_t address)
{
	uint64_t v;

	memcpy(&v, (const void *)(uintptr_t)address, sizeof(v));
	return v;
}
void addresses_init(JNIEnv *env);
jint addresses_request(JNIEnv *env, JVMPI_JS_Addresses *a);

/* registers.c: of threads that are suspended */
void registers_init(uint64_t env_distance); /* what has to be added to a JavaThread for its JNIEnv */
bool registers_known(void);
uint64_t registers_sum(JNIEnv *env);

/* code.c */
void JNICALL on_code_load(jvmtiEnv *ti, jmethodID method, jint size, const void *addr, jint map_length,
			  const jvmtiAddrLocationMap *map, const void *info);
void JNICALL on_code_unload(jvmtiEnv *ti, jmethodID method, const void *addr);
void JNICALL on_dynamic_code(jvmtiEnv *ti, const char *name, const void *addr, jint length);
void code_tell_all(struct agent *a, struct thread *t, jint requested); /* what there is */

#endif
