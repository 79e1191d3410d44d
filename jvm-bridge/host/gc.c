/*
 * Garbage collections. JVMTI's callbacks run in the pause, where an agent's handler that takes a lock would
 * deadlock with a thread that holds it and waits for the pause to end. So they only count, and a thread
 * of the bridge sends GC_START, OBJECT_FREE, GC_FINISH afterwards, as one window. In the window other
 * threads' events wait (as everything stood still in a collection of that time), unless the thread is in the
 * agent already or owns a raw monitor: then somebody may be waiting for it.
 *
 * A thread that is woken in the pause blocks at the safepoint and is woken once more. So where nobody waits for
 * what a collection brings (no window, no unloaded class), the pump takes collections in batches, on a clock of its
 * own, and is woken only by the first one after it found nothing for a whole turn: an idle JVM is left alone.
 *
 * Freed objects are reported by JVMTI in the pause up to JDK 15. Later it reports them on the Service Thread, and whoever
 * sets the mode of OBJECT_FREE, and the thread that ends the JVM, wait for that without letting a safepoint begin: the JVM
 * then stands still for good when that thread is stopped at one (docs/jvmti-waits.md). There the event stays off, and
 * after a collection the pump looks which weak references were cleared.
 */
#include <stdlib.h>

#include "jvm-bridge/host/id.h"
#include "jvm-bridge/host/thread.h"

enum {
	PAUSES = 512,
	RUN_LIMIT_MS = 10000,
	BATCH_NS = 250000000, /* JS_GC_PAUSE comes so much later, at most */
	LOOK_SHARE = 50, /* dead objects are looked for in one such part of the time, at most */
};

static struct {
	struct lock start_lock;
	bool started;
	_Atomic uint32_t wake; /* changes when the pump is woken */
	_Atomic bool hurry; /* for something that does not wait for a batch */
	_Atomic bool asleep; /* the pump waits without a limit */
	_Atomic uint32_t collections; /* finished, by JVMTI */
	_Atomic uint32_t delivered; /* of them */
	_Atomic(struct object_id *) freed; /* pushed by on_object_free */
	/* The pump's. */
	struct object_id *used; /* told as freed while somebody was looking at them */
	bool look; /* there was a collection since dead objects were looked for */
	uint64_t look_next; /* not before */
	/* Of the thread that collects; the pump reads behind `collections`. */
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

static void pump_wake(void)
{
	atomic_fetch_add(&gc.wake, 1);
	futex_wake_all(&gc.wake);
}

static void pump_hurry(void)
{
	if (!atomic_exchange(&gc.hurry, true))
		pump_wake();
}

static bool wants_window(const struct agent *a)
{
	return agent_wants(a, JVMPI_EVENT_GC_START) || agent_wants(a, JVMPI_EVENT_GC_FINISH) ||
		agent_wants(a, JVMPI_EVENT_OBJECT_FREE);
}

static void pump_tell(bool hurry)
{
	unsigned n = atomic_load(&the_bridge.n_agents);

	for (unsigned i = 0; i < n; i++)
		hurry |= wants_window(&the_bridge.agents[i]);
	if (hurry)
		pump_hurry();
	else if (atomic_exchange(&gc.asleep, false))
		pump_wake();
}

void JNICALL on_gc_finish(jvmtiEnv *ti)
{
	uint32_t i = atomic_load(&gc.collections) % PAUSES;

	(void)ti;
	atomic_store(&gc.pauses[i].begin, atomic_load(&gc.pause_begin));
	atomic_store(&gc.pauses[i].end, (int64_t)clock_ns(CLOCK_MONOTONIC));
	i = atomic_fetch_add(&gc.collections, 1);
	pump_tell(i - atomic_load(&gc.delivered) >= PAUSES / 2);
}

void JNICALL on_object_free(jvmtiEnv *ti, jlong tag)
{
	struct object_id *id = id_from_tag(tag);
	bool class = id->kind == ID_CLASS;

	(void)ti;
	id->next = atomic_load(&gc.freed);
	while (!atomic_compare_exchange_weak(&gc.freed, &id->next, id))
		;
	pump_tell(class); /* before others take its place */
}

/* The gate. */

static bool passes(struct agent *a, struct thread *t)
{
	return (t && t->inside) || atomic_load(&a->window_owner) == t || monitor_owned();
}

static void gc_off_drop(struct agent *a)
{
	if (atomic_fetch_sub(&a->gc_off, 1) == 1)
		futex_wake_all(&a->gc_off);
}

void gc_gate_enter(struct agent *a, struct thread *t, enum gc_mode mode)
{
	for (;;) {
		if (mode == GC_NOT)
			atomic_fetch_add(&a->gc_off, 1);
		atomic_fetch_add(&a->entering, 1);
		if (!atomic_load(&a->window) || passes(a, t))
			return;
		gc_gate_passed(a);
		if (mode == GC_NOT)
			gc_off_drop(a);
		futex_wait(&a->window, 1, 0);
	}
}

void gc_gate_passed(struct agent *a)
{
	if (atomic_fetch_sub(&a->entering, 1) == 1 && atomic_load(&a->window))
		futex_wake_all(&a->entering);
}

void gc_gate_leave(struct agent *a, enum gc_mode mode)
{
	if (mode == GC_NOT)
		gc_off_drop(a);
}

void gc_disable(struct agent *a)
{
	struct thread *t = thread_current();

	if (!t)
		return;
	gc_gate_enter(a, t, GC_NOT); /* not in the midst of a window */
	gc_gate_passed(a);
	t->gc_off[a->index]++;
}

void gc_enable(struct agent *a)
{
	struct thread *t = thread_current();

	if (!t || !t->gc_off[a->index])
		return;
	t->gc_off[a->index]--;
	gc_off_drop(a);
}

void gc_enable_all(struct thread *t)
{
	for (unsigned i = 0; i < AGENTS_MAX; i++)
		for (; t->gc_off[i]; t->gc_off[i]--)
			gc_off_drop(&the_bridge.agents[i]);
}

/* Who saw no window reaches the agent before there is one; nothing on that way waits. */
static void entering_wait(struct agent *a)
{
	for (uint32_t n; (n = atomic_load(&a->entering)) && !atomic_load(&the_bridge.dead);)
		futex_wait(&a->entering, n, 100000000);
}

/* Not closed while it waits: events go on meanwhile. false: the JVM ends. */
static bool window_open(struct agent *a, struct thread *t)
{
	for (;;) {
		uint32_t off = atomic_load(&a->gc_off);

		if (atomic_load(&the_bridge.dead))
			return false;
		if (off) {
			futex_wait(&a->gc_off, off, 100000000);
			continue;
		}
		atomic_store(&a->window_owner, t);
		atomic_store(&a->window, 1);
		if (!atomic_load(&a->gc_off)) {
			entering_wait(a);
			return true;
		}
		atomic_store(&a->window, 0);
		futex_wake_all(&a->window);
	}
}

static void window_close(struct agent *a)
{
	atomic_store(&a->window_owner, NULL);
	atomic_store(&a->window, 0);
	futex_wake_all(&a->window);
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

/* As java.lang.Runtime says, a little later than the collection. Objects are not counted. */
static void heap_sizes(JNIEnv *env, JVMPI_Event *e)
{
	jclass klass = (*env)->FindClass(env, "java/lang/Runtime");
	jmethodID get = klass ? (*env)->GetStaticMethodID(env, klass, "getRuntime", "()Ljava/lang/Runtime;") : NULL;
	jobject runtime = get ? (*env)->CallStaticObjectMethod(env, klass, get) : NULL;

	if ((*env)->ExceptionCheck(env))
		(*env)->ExceptionClear(env);
	if (!runtime)
		return;
	e->u.gc_info.total_object_space = call_long(env, runtime, klass, "totalMemory");
	e->u.gc_info.used_object_space =
		e->u.gc_info.total_object_space - call_long(env, runtime, klass, "freeMemory");
}

/* A window for one agent: what was freed is told, and nothing else happens meanwhile. */
static void window_send(struct agent *a, struct thread *t, struct object_id *freed, JVMPI_Event *finish)
{
	JVMPI_Event e = {.event_type = JVMPI_EVENT_GC_START};

	thread_announce(a, t, t, 0);
	if (!window_open(a, t))
		return;
	if (agent_wants(a, JVMPI_EVENT_GC_START))
		event_send(a, t, &e, GC_MAY);
	for (struct object_id *id = freed; id && agent_wants(a, JVMPI_EVENT_OBJECT_FREE); id = id->next) {
		e = (JVMPI_Event){.event_type = JVMPI_EVENT_OBJECT_FREE};
		e.u.obj_free.obj_id = (jobjectID)id;
		event_send(a, t, &e, GC_MAY);
	}
	finish->event_type = JVMPI_EVENT_GC_FINISH;
	if (agent_wants(a, JVMPI_EVENT_GC_FINISH))
		event_send(a, t, finish, GC_MAY);
	window_close(a);
}

static void pauses_send(struct thread *t, uint32_t from, uint32_t to)
{
	for (; from != to; from++) {
		JVMPI_Event e = {.event_type = JVMPI_EVENT_JS_GC_PAUSE};

		if (to - from >= PAUSES)
			continue; /* overwritten */
		e.u.js_gc_pause.begin = atomic_load(&gc.pauses[from % PAUSES].begin);
		e.u.js_gc_pause.end = atomic_load(&gc.pauses[from % PAUSES].end);
		event_send_all(t, &e, GC_MAY);
	}
}

static void unloads_send(struct thread *t, struct object_id *freed)
{
	unsigned n = atomic_load(&the_bridge.n_agents);

	for (struct object_id *id = freed; id; id = id->next) {
		if (id->kind != ID_CLASS)
			continue;
		for (unsigned i = 0; i < n; i++)
			if (agent_wants(&the_bridge.agents[i], JVMPI_EVENT_CLASS_UNLOAD))
				class_unload_tell(&the_bridge.agents[i], t, id);
	}
}

static struct object_id *freed_take(JNIEnv *env, bool collected)
{
	uint64_t begin, end;
	struct object_id *dead;

	if (!ids_looked_for())
		return atomic_exchange(&gc.freed, NULL);
	gc.look |= collected;
	begin = clock_ns(CLOCK_MONOTONIC);
	if (!gc.look || begin < gc.look_next)
		return NULL;
	gc.look = false;
	dead = ids_dead(env);
	end = clock_ns(CLOCK_MONOTONIC);
	gc.look_next = end + (end - begin) * LOOK_SHARE;
	return dead;
}

/* True: classes were among them. */
static bool ids_free(JNIEnv *env, struct object_id *list)
{
	struct object_id *next;
	bool classes = false;

	for (; list; list = next) {
		next = list->next;
		classes |= list->kind == ID_CLASS;
		if (id_free(env, list))
			continue;
		list->next = gc.used;
		gc.used = list;
	}
	return classes;
}

static void pump_once(struct thread *t)
{
	JNIEnv *env = t->env;
	uint32_t done = atomic_load(&gc.delivered), now = atomic_load(&gc.collections);
	struct object_id *freed = freed_take(env, now != done), *used = gc.used;
	JVMPI_Event finish = {0};
	bool classes;
	unsigned n = atomic_load(&the_bridge.n_agents);

	if (anybody_wants(JVMPI_EVENT_GC_FINISH))
		heap_sizes(env, &finish);
	unloads_send(t, freed); /* before OBJECT_FREE of the same id */
	for (unsigned i = 0; i < n && (now != done || freed); i++)
		if (wants_window(&the_bridge.agents[i]))
			window_send(&the_bridge.agents[i], t, freed, &finish);
	pauses_send(t, done, now);
	gc.used = NULL;
	classes = ids_free(env, used);
	classes = ids_free(env, freed) || classes;
	if (classes)
		trace_forget();
	atomic_store(&gc.delivered, now);
	futex_wake_all(&gc.delivered);
}

static bool pump_has_work(void)
{
	return atomic_load(&gc.hurry) || atomic_load(&gc.freed) || gc.look ||
		atomic_load(&gc.collections) != atomic_load(&gc.delivered);
}

/* pump_tell() sees that it sleeps, or it sees what pump_tell() was called for. */
static void pump_sleep(void)
{
	uint32_t now = atomic_load(&gc.wake);

	atomic_store(&gc.asleep, true);
	if (!pump_has_work() && !atomic_load(&the_bridge.dead))
		futex_wait(&gc.wake, now, 0);
	atomic_store(&gc.asleep, false);
}

static void pump_main(void *arg)
{
	struct thread *t = thread_current();

	(void)arg;
	if (!t)
		return;
	t->system = true;
	while (!atomic_load(&the_bridge.dead)) {
		uint32_t now = atomic_load(&gc.wake);

		if (!atomic_load(&gc.hurry))
			futex_wait(&gc.wake, now, BATCH_NS);
		if (!pump_has_work()) {
			pump_sleep();
			continue;
		}
		atomic_store(&gc.hurry, false); /* before the work is looked at */
		if ((*t->env)->PushLocalFrame(t->env, 32)) {
			(*t->env)->ExceptionClear(t->env);
			continue;
		}
		pump_once(t);
		(*t->env)->PopLocalFrame(t->env, NULL);
	}
}

bool gc_pump_start(void)
{
	bool ok;

	/* Not held over thread_create(), which runs Java code and sends THREAD_START. */
	lock_take(&gc.start_lock);
	ok = gc.started;
	gc.started = true;
	lock_drop(&gc.start_lock);
	if (ok)
		return true;
	ok = thread_create("jsampler bridge", 5, pump_main, NULL) == JNI_OK;
	if (!ok)
		gc.started = false;
	return ok;
}

/*
 * Returns when its GC events were delivered; CLASS_UNLOAD and OBJECT_FREE may follow (LOOK_SHARE). With GC disabled by
 * the caller: at once, without.
 */
void gc_run(void)
{
	struct thread *t = thread_current();
	uint32_t before, now;

	if (!t || t->gc_not)
		return;
	for (unsigned i = 0; i < AGENTS_MAX; i++)
		if (t->gc_off[i])
			return;
	before = atomic_load(&gc.collections);
	(*the_bridge.ti)->ForceGarbageCollection(the_bridge.ti);
	if (!gc.started || t->system || atomic_load(&gc.collections) == before)
		return;
	pump_hurry();
	for (unsigned i = 0; i < RUN_LIMIT_MS / 100 && !atomic_load(&the_bridge.dead); i++) {
		now = atomic_load(&gc.delivered);
		if ((int32_t)(now - before) > 0)
			return;
		futex_wait(&gc.delivered, now, 100000000);
	}
}

void gc_shutdown(void)
{
	unsigned n = atomic_load(&the_bridge.n_agents);

	for (unsigned i = 0; i < n; i++)
		futex_wake_all(&the_bridge.agents[i].gc_off);
	pump_wake();
}
