/*
 * Garbage collections. JVMTI's callbacks run in the pause: a handler that takes a lock there would deadlock with a
 * thread that holds it and waits for the pause to end. So they only count, and the pump (pump.h) sends GC_START,
 * OBJECT_FREE and GC_FINISH afterwards, as one window (gate.c). A caller of RunGC gets its GC_START and GC_FINISH on
 * its own thread, because it may hold locks that their handlers take. If nobody waits for the results of a collection
 * (no window, no unloaded class), the pump handles collections in batches.
 *
 * Up to JDK 15 JVMTI reports freed objects in the pause. Later it reports them on the Service Thread; the thread that
 * enables OBJECT_FREE and the thread that ends the JVM wait for that without allowing a safepoint, so the JVM hangs
 * if the Service Thread is stopped at one (docs/jvmti-waits.md). There the event stays off, and after a collection
 * the pump looks for weak references that were cleared.
 */
#include <stdlib.h>

#include "jvm-bridge/host/classes/code.h"
#include "jvm-bridge/host/collections/dead_ids.h"
#include "jvm-bridge/host/collections/gc.h"
#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/gate.h"
#include "jvm-bridge/host/id.h"
#include "jvm-bridge/host/monitor.h"
#include "jvm-bridge/host/pump.h"
#include "jvm-bridge/host/thread.h"

enum {
	PAUSES = 512,
	AGAIN_NS = 20000000, /* until RunGC tries again */
};

#define RUN_LIMIT_NS 10000000000ull /* how long RunGC waits for others that have GC disabled */
#define TURN_NS 1000000000ull /* and for another thread's window */

static struct {
	_Atomic uint32_t collections; /* finished, counted by JVMTI's callback */
	_Atomic uint32_t delivered; /* how many the pump has handled */
	_Atomic(struct object_id *) freed; /* pushed by on_object_free */
	_Atomic bool release; /* all ids are to be released */
	/* Written by the collecting thread; the pump reads it after `collections`. */
	_Atomic int64_t pause_begin;
	struct {
		_Atomic int64_t begin, end;
	} pauses[PAUSES];
} gc;

void JNICALL on_gc_start(jvmtiEnv *ti)
{
	(void)ti;
	atomic_store(&gc.pause_begin, (int64_t)clock_ns(CLOCK_MONOTONIC));
}

static bool wants_window(const struct agent *a)
{
	return agent_wants(a, JVMPI_EVENT_GC_START) || agent_wants(a, JVMPI_EVENT_GC_FINISH) ||
	       agent_wants(a, JVMPI_EVENT_OBJECT_FREE);
}

static void tell_pump(bool hurry)
{
	unsigned n = atomic_load(&the_bridge.n_agents);

	for (unsigned i = 0; i < n; i++)
		hurry |= wants_window(&the_bridge.agents[i]);
	hurry ? pump_hurry() : pump_notify();
}

void JNICALL on_gc_finish(jvmtiEnv *ti)
{
	uint32_t i = atomic_load(&gc.collections) % PAUSES;

	(void)ti;
	atomic_store(&gc.pauses[i].begin, atomic_load(&gc.pause_begin));
	atomic_store(&gc.pauses[i].end, (int64_t)clock_ns(CLOCK_MONOTONIC));
	i = atomic_fetch_add(&gc.collections, 1);
	tell_pump(i - atomic_load(&gc.delivered) >= PAUSES / 2);
}

void JNICALL on_object_free(jvmtiEnv *ti, jlong tag)
{
	struct object_id *id = id_from_tag(tag);
	bool class = id->kind == ID_CLASS;

	(void)ti;
	id->gone = true;
	id->next = atomic_load(&gc.freed);
	while (!atomic_compare_exchange_weak(&gc.freed, &id->next, id))
		;
	tell_pump(class); /* unloads are urgent: other classes may be loaded in their place */
}

static jlong call_long(JNIEnv *env, jobject runtime, jclass klass, const char *name)
{
	jmethodID m = (*env)->GetMethodID(env, klass, name, "()J");
	jlong v = m ? (*env)->CallLongMethod(env, runtime, m) : 0;

	if ((*env)->ExceptionCheck(env)) {
		(*env)->ExceptionClear(env);
		return 0;
	}
	return v;
}

/* From java.lang.Runtime, slightly later than the collection. Objects are not counted. Leaves no local reference. */
static void heap_sizes(JNIEnv *env, JVMPI_Event *e)
{
	jclass klass = (*env)->FindClass(env, "java/lang/Runtime");
	jmethodID get = klass ? (*env)->GetStaticMethodID(env, klass, "getRuntime", "()Ljava/lang/Runtime;") : NULL;
	jobject runtime = get ? (*env)->CallStaticObjectMethod(env, klass, get) : NULL;

	if ((*env)->ExceptionCheck(env))
		(*env)->ExceptionClear(env);
	if (runtime) {
		e->u.gc_info.total_object_space = call_long(env, runtime, klass, "totalMemory");
		e->u.gc_info.used_object_space =
			e->u.gc_info.total_object_space - call_long(env, runtime, klass, "freeMemory");
	}
	(*env)->DeleteLocalRef(env, runtime);
	(*env)->DeleteLocalRef(env, klass);
}

/*
 * false: GC is disabled, or the JVM is ending. The gate is shut only after GC_START; events in progress then may wait
 * for a lock that its handler took: in that case freed objects are left for the next window.
 */
static bool window_send(struct agent *a, struct thread *t, bool collected, bool frees)
{
	JVMPI_Event e = {.event_type = JVMPI_EVENT_GC_START}, finish = {.event_type = JVMPI_EVENT_GC_FINISH};

	thread_announce(a, t, t, 0);
	if (agent_wants(a, JVMPI_EVENT_GC_FINISH))
		heap_sizes(t->env, &finish);
	if (!gate_quiet(a) && !collected)
		return false;
	if (gate_disabled(t) || (agent_wants(a, JVMPI_EVENT_GC_START) && !event_send(a, t, &e, GC_FREES)))
		return false;
	gate_shut(a, t);
	if (frees && gate_quiet(a))
		dead_ids_send_frees(a, t); /* the pump checks for those left */
	if (agent_wants(a, JVMPI_EVENT_GC_FINISH))
		event_send(a, t, &finish, GC_MAY);
	gate_open(a);
	return true;
}

static void pauses_send(struct agent *a, struct thread *t, uint32_t from, uint32_t to)
{
	for (; from != to && agent_wants(a, JVMPI_EVENT_JS_GC_PAUSE); from++) {
		JVMPI_Event e = {.event_type = JVMPI_EVENT_JS_GC_PAUSE};

		if (to - from >= PAUSES)
			continue; /* overwritten in the ring */
		e.u.js_gc_pause.begin = atomic_load(&gc.pauses[from % PAUSES].begin);
		e.u.js_gc_pause.end = atomic_load(&gc.pauses[from % PAUSES].end);
		event_send(a, t, &e, GC_MAY);
	}
}

/* Reports collections up to `now`, and with `frees` freed objects; false: not possible now. In the agent's turn. */
static bool report_collections(struct agent *a, struct thread *t, uint32_t now, bool frees)
{
	uint32_t before = atomic_load(&a->collected);

	if (wants_window(a) && (now != before || frees) && !window_send(a, t, now != before, frees))
		return false;
	pauses_send(a, t, before, now);
	atomic_store(&a->collected, now);
	return true;
}

/* true: to some, not everything could be reported. */
static bool report_to_agents(struct thread *t, uint32_t now)
{
	unsigned n = atomic_load(&the_bridge.n_agents);
	bool left = false;

	for (unsigned i = 0; i < n; i++) {
		struct agent *a = &the_bridge.agents[i];
		bool frees = dead_ids_have_frees(a);
		uint32_t told;

		if (!gate_turn_take(a, t)) {
			left = true;
			continue;
		}
		/* A caller of RunGC may have reported later ones. */
		told = atomic_load(&a->collected);
		if ((int32_t)(now - told) > 0)
			told = now;
		left |= !report_collections(a, t, told, frees) || dead_ids_have_frees(a);
		gate_turn_drop(a);
	}
	return left;
}

static void code_send(struct thread *t)
{
	unsigned n = atomic_load(&the_bridge.n_agents);

	for (unsigned i = 0; i < n; i++)
		if (atomic_exchange(&the_bridge.agents[i].code_wanted, false))
			code_report_all(&the_bridge.agents[i], t, 0);
}

static bool run(struct thread *t)
{
	uint32_t now = atomic_load(&gc.collections);
	bool release, left;

	code_send(t);
	if (gate_disabled(t))
		return true; /* gate.c wakes the pump */
	dead_ids_add(atomic_exchange(&gc.freed, NULL));
	if (ids_looked_for())
		dead_ids_find(t->env, now != atomic_load(&gc.delivered));
	release = atomic_exchange(&gc.release, false) && !events_want_ids();
	if (release)
		dead_ids_add(ids_untag(t->env));
	left = !dead_ids_send_unloads(t); /* CLASS_UNLOAD comes before OBJECT_FREE of the same id */
	left |= report_to_agents(t, now);
	left |= !dead_ids_release(t);
	if (release)
		event_modes_apply();
	atomic_store(&gc.delivered, now);
	return left;
}

static bool is_due(void)
{
	return atomic_load(&gc.freed) || dead_ids_find_is_due() ||
	       atomic_load(&gc.collections) != atomic_load(&gc.delivered);
}

void gc_init(void)
{
	static const struct pump_work work = {.is_due = is_due, .run = run};

	pump_set_work(&work);
}

void gc_ids_release(void)
{
	atomic_store(&gc.release, true);
	pump_hurry();
}

bool gc_pump_wants_code(struct agent *a)
{
	if (!pump_start())
		return false;
	atomic_store(&a->code_wanted, true);
	pump_hurry();
	return true;
}

/* Another thread is reporting a collection and does not finish: it waits for something that t holds, or may do so. */
static void run_tell_inside(struct agent *a, struct thread *t)
{
	JVMPI_Event start = {.event_type = JVMPI_EVENT_GC_START}, finish = {.event_type = JVMPI_EVENT_GC_FINISH};

	heap_sizes(t->env, &finish);
	if (agent_wants(a, JVMPI_EVENT_GC_START))
		event_send(a, t, &start, GC_MAY);
	if (agent_wants(a, JVMPI_EVENT_GC_FINISH))
		event_send(a, t, &finish, GC_MAY);
}

/* Taken before the collection; otherwise the pump would be faster. Not waited for if its owner waits for the caller. */
static bool run_turn(struct agent *a, struct thread *t)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + TURN_NS;

	while (!gate_turn_take(a, t)) {
		if (clock_ns(CLOCK_MONOTONIC) >= end || bridge_is_ending() || monitor_keeps_out(atomic_load(&a->turn)))
			return false;
		gate_turn_wait(a, AGAIN_NS);
	}
	return true;
}

/* Waits while other threads have GC disabled, unless they wait for the caller: then the pump sends the events. */
static void run_tell(struct agent *a, struct thread *t)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + RUN_LIMIT_NS;

	while (!report_collections(a, t, atomic_load(&gc.collections), false)) {
		if (clock_ns(CLOCK_MONOTONIC) >= end || bridge_is_ending() || gate_disabled_for_caller())
			return;
		usleep(AGAIN_NS / 1000);
	}
}

static void run_collected(struct agent *a, struct thread *t, bool turn)
{
	jthrowable pending = bridge_exception_take(t->env);

	if ((*t->env)->PushLocalFrame(t->env, 32)) {
		(*t->env)->ExceptionClear(t->env);
	} else {
		turn ? run_tell(a, t) : run_tell_inside(a, t);
		(*t->env)->PopLocalFrame(t->env, NULL);
	}
	bridge_exception_put(t->env, pending);
}

uint32_t gc_collections(void)
{
	return atomic_load(&gc.collections);
}

/* GC_START and GC_FINISH are sent before this returns. Does nothing if the caller has GC disabled. */
void gc_run(struct agent *a)
{
	struct thread *t = thread_current();
	uint32_t before;
	bool turn;

	if (!t || t->gc_not)
		return;
	for (unsigned i = 0; i < AGENTS_MAX; i++)
		if (t->gc_off[i])
			return;
	turn = !t->system && run_turn(a, t);
	before = atomic_load(&gc.collections);
	(*the_bridge.ti)->ForceGarbageCollection(the_bridge.ti);
	if (pump_is_started() && !t->system && atomic_load(&gc.collections) != before)
		run_collected(a, t, turn);
	if (turn)
		gate_turn_drop(a);
	pump_hurry();
}
