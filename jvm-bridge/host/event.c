/* Which events are enabled, in JVMPI and in JVMTI, and how an event is sent to the agents. */
#include <string.h>

#include "jvm-bridge/host/alloc.h"
#include "jvm-bridge/host/dump.h"
#include "jvm-bridge/host/id.h"
#include "jvm-bridge/host/monitor_dump.h"
#include "jvm-bridge/host/support.h"
#include "jvm-bridge/host/thread.h"
#include "jvm-bridge/host/versions.h"

enum { SLOT_JS = 10, JS_EVENTS = 4 }; /* the extensions use slots that JVMPI never assigned */

int event_slot(jint type)
{
	if (type >= JVMPI_EVENT_JS_CODE_LOAD && type < JVMPI_EVENT_JS_CODE_LOAD + JS_EVENTS)
		return SLOT_JS + (type - JVMPI_EVENT_JS_CODE_LOAD);
	if (type < 1 || type > JVMPI_MAX_EVENT_TYPE_VAL || (type >= SLOT_JS && type < SLOT_JS + JS_EVENTS))
		return -1;
	return type;
}

static uint64_t bit_of(jint type)
{
	int slot = event_slot(type);

	return slot < 0 ? 0 : 1ull << slot;
}

bool agent_wants(const struct agent *a, jint type)
{
	return atomic_load(&a->enabled) & bit_of(type);
}

bool anybody_wants(jint type)
{
	unsigned n = atomic_load(&the_bridge.n_agents);

	for (unsigned i = 0; i < n; i++)
		if (agent_wants(&the_bridge.agents[i], type))
			return true;
	return false;
}

/* The pump looks for dead objects after a collection, whatever agents want. */
static bool is_needed(jvmtiEvent event)
{
	return event == JVMTI_EVENT_GARBAGE_COLLECTION_FINISH && ids_looked_for();
}

/* true: allocations are reported from now on; call alloc_begin(). */
static bool modes_apply_locked(void)
{
	static uint64_t set; /* as last set in JVMTI: one bit per event */
	jvmtiEnv *ti = the_bridge.ti;
	bool allocs = false;

	for (jvmtiEvent event = JVMTI_MIN_EVENT_TYPE_VAL; event <= JVMTI_MAX_EVENT_TYPE_VAL; event++) {
		uint64_t bit = 1ull << (event - JVMTI_MIN_EVENT_TYPE_VAL);
		bool on = support_wants(event) || is_needed(event);

		/* Only on a change: each call takes locks that starting threads take. */
		if (on != ((set & bit) != 0) &&
		    !(*ti)->SetEventNotificationMode(ti, on ? JVMTI_ENABLE : JVMTI_DISABLE, event, NULL)) {
			set ^= bit;
			allocs |= on && event == JVMTI_EVENT_SAMPLED_OBJECT_ALLOC;
		}
		if (!on && event == JVMTI_EVENT_COMPILED_METHOD_UNLOAD)
			versions_clear();
	}
	return allocs;
}

void event_modes_apply(void)
{
	bool allocs;

	if (!atomic_load(&the_bridge.live) || atomic_load(&the_bridge.dead))
		return;
	steady_take(thread_find(bridge_env()));
	allocs = modes_apply_locked();
	steady_drop();
	if (allocs)
		alloc_begin();
}

static bool is_code(jint type)
{
	return type == JVMPI_EVENT_COMPILED_METHOD_LOAD || type == JVMPI_EVENT_JS_CODE_LOAD ||
	       type == JVMPI_EVENT_JS_DYNAMIC_CODE;
}

jint event_enable(struct agent *a, jint type, bool on)
{
	uint64_t before;

	if (!support_has(type))
		return JVMPI_NOT_AVAILABLE;
	/* Before the JVM is live it is only recorded; agent_start() prepares it. */
	if (on && !(atomic_load(&the_bridge.live) ? support_prepare(type) : support_possible(type)))
		return JVMPI_NOT_AVAILABLE;
	before = on ? atomic_fetch_or(&a->enabled, bit_of(type)) : atomic_fetch_and(&a->enabled, ~bit_of(type));
	event_modes_apply();
	if (!on && a->lean && !events_want_ids())
		gc_ids_release();
	/* Report existing code, but not on this thread, which may hold locks that the handler takes. */
	if (on && !(before & bit_of(type)) && is_code(type) && a->started && !a->lean && !gc_pump_wants_code(a))
		bridge_say("event %d is not sent for code that is already compiled: cannot start a thread", (int)type);
	return JVMPI_SUCCESS;
}

/* A lean agent needs ids only while these events are enabled; any other may keep ids as long as it likes. */
bool events_want_ids(void)
{
	unsigned n = atomic_load(&the_bridge.n_agents);

	for (unsigned i = 0; i < n; i++)
		if (!the_bridge.agents[i].lean && !the_bridge.agents[i].failed)
			return true;
	return anybody_wants(JVMPI_EVENT_CLASS_LOAD) || anybody_wants(JVMPI_EVENT_CLASS_UNLOAD) ||
	       anybody_wants(JVMPI_EVENT_OBJECT_FREE);
}

/* EnableEvent succeeded, but the event may turn out to be unavailable. */
static void event_check(struct agent *a, jint type)
{
	if (!agent_wants(a, type) || support_prepare(type))
		return;
	atomic_fetch_and(&a->enabled, ~bit_of(type));
	bridge_say("event %d, which an agent has enabled, is not available in this JVM now", (int)type);
}

void events_prepare(struct agent *a)
{
	for (jint type = 1; type <= JVMPI_MAX_EVENT_TYPE_VAL; type++)
		event_check(a, type);
	for (jint type = JVMPI_EVENT_JS_CODE_LOAD; type < JVMPI_EVENT_JS_CODE_LOAD + JS_EVENTS; type++)
		event_check(a, type);
	event_modes_apply();
}

/* The specification wants the id of the thread's object; agents also pass its JNIEnv. */
static jint thread_request(struct agent *a, struct thread *t, void *arg)
{
	struct object_id *id = id_check(arg);
	struct thread *about = id ? thread_of(id, t->env) : thread_find(arg);

	if (!about || !atomic_load(&about->ref))
		return JVMPI_FAIL;
	thread_announce(a, about, t, JVMPI_REQUESTED_EVENT);
	return JVMPI_SUCCESS;
}

static jint replay(struct agent *a, struct thread *t)
{
	bool ok = true;

	addresses_init(t->env);
	if (agent_wants(a, JVMPI_EVENT_CLASS_LOAD))
		ok = class_tell_all(a, t, t->env, true);
	if (agent_wants(a, JVMPI_EVENT_THREAD_START))
		threads_announce(a, t, JVMPI_REQUESTED_EVENT);
	code_tell_all(a, t, JVMPI_REQUESTED_EVENT);
	return ok ? JVMPI_SUCCESS : JVMPI_FAIL;
}

static bool is_requestable(jint type)
{
	switch (type) {
	case JVMPI_EVENT_CLASS_LOAD:
	case JVMPI_EVENT_OBJECT_ALLOC:
	case JVMPI_EVENT_THREAD_START:
	case JVMPI_EVENT_HEAP_DUMP:
	case JVMPI_EVENT_OBJECT_DUMP:
	case JVMPI_EVENT_MONITOR_DUMP:
	case JVMPI_EVENT_JS_METHOD:
	case JVMPI_EVENT_JS_REPLAY:
	case JVMPI_EVENT_JS_ADDRESSES: return true;
	default: return false;
	}
}

jint event_request(struct agent *a, jint type, void *arg)
{
	struct thread *t = thread_current();
	struct object_id *id;

	if (type == JVMPI_EVENT_JS_LEAN) {
		a->lean = true;
		return JVMPI_SUCCESS;
	}
	if (!is_requestable(type))
		return JVMPI_NOT_AVAILABLE;
	if (!t || !atomic_load(&the_bridge.live))
		return JVMPI_FAIL;
	switch (type) {
	case JVMPI_EVENT_CLASS_LOAD: id = id_check(arg); return id ? class_request(a, t, t->env, id) : JVMPI_FAIL;
	case JVMPI_EVENT_OBJECT_ALLOC: id = id_check(arg); return id ? alloc_request(a, t, t->env, id) : JVMPI_FAIL;
	case JVMPI_EVENT_THREAD_START: return thread_request(a, t, arg);
	case JVMPI_EVENT_HEAP_DUMP: return heap_dump_request(a, t, t->env, arg);
	case JVMPI_EVENT_OBJECT_DUMP:
		id = id_check(arg);
		return id ? object_dump_request(a, t, t->env, id) : JVMPI_FAIL;
	case JVMPI_EVENT_MONITOR_DUMP: return monitor_dump_request(a, t, t->env);
	case JVMPI_EVENT_JS_ADDRESSES: return addresses_request(t->env, arg);
	case JVMPI_EVENT_JS_METHOD: return method_request(a, t, t->env, arg);
	default: return replay(a, t);
	}
}

/*
 * t may be NULL (a thread of the JVM that is not a Java thread). A thread is announced before its first event.
 * NotifyEvent is read each time, because agents may set it late.
 */
bool event_send(struct agent *a, struct thread *t, JVMPI_Event *e, enum gc_mode mode)
{
	void (*notify)(JVMPI_Event *) = a->iface.NotifyEvent;
	jint type = e->event_type & ~JVMPI_REQUESTED_EVENT;

	if (!notify)
		return true; /* no receiver */
	if (atomic_load(&the_bridge.dead))
		return false;
	if (t && !a->lean && type != JVMPI_EVENT_THREAD_START && type != JVMPI_EVENT_THREAD_END && a->started)
		thread_announce(a, t, t, 0);
	if (!gate_enter(a, t, mode, e->event_type & JVMPI_REQUESTED_EVENT))
		return false;
	if (!e->env_id)
		e->env_id = t ? t->env : NULL;
	if (t) {
		t->inside++;
		t->gc_not += mode == GC_NOT;
	}
	gate_passed(a, mode);
	notify(e);
	if (t) {
		t->inside--;
		t->gc_not -= mode == GC_NOT;
	}
	gate_leave(a, mode);
	return true;
}

void event_send_all(struct thread *t, JVMPI_Event *e, enum gc_mode mode)
{
	unsigned n = atomic_load(&the_bridge.n_agents);
	jint type = e->event_type;

	for (unsigned i = 0; i < n; i++) {
		struct agent *a = &the_bridge.agents[i];

		if (!agent_wants(a, type))
			continue;
		e->event_type = type;
		event_send(a, t, e, mode);
	}
}
