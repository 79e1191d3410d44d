/* Which events are enabled, in JVMPI and in JVMTI, and how an event is sent to the agents. */
#include <string.h>

#include "jvm-bridge/host/alloc.h"
#include "jvm-bridge/host/base/versions.h"
#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/gate.h"
#include "jvm-bridge/host/id.h"
#include "jvm-bridge/host/support.h"
#include "jvm-bridge/host/thread.h"

enum { SLOT_JS = 10 }; /* the extensions use slots that JVMPI never assigned */

int event_slot(jint type)
{
	if (type >= JVMPI_EVENT_JS_CODE_LOAD && type < JVMPI_EVENT_JS_CODE_LOAD + JS_EVENTS)
		return SLOT_JS + (type - JVMPI_EVENT_JS_CODE_LOAD);
	if (type < 1 || type > JVMPI_MAX_EVENT_TYPE_VAL || (type >= SLOT_JS && type < SLOT_JS + JS_EVENTS))
		return -1;
	return type;
}

uint64_t event_bit(jint type)
{
	int slot = event_slot(type);

	return slot < 0 ? 0 : 1ull << slot;
}

bool agent_wants(const struct agent *a, jint type)
{
	return atomic_load(&a->enabled) & event_bit(type);
}

bool any_agent_wants(jint type)
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
	steady_lock(thread_find(bridge_env()));
	allocs = modes_apply_locked();
	steady_unlock();
	if (allocs)
		alloc_begin();
}

/* A lean agent needs ids only while these events are enabled; any other may keep ids as long as it likes. */
bool events_want_ids(void)
{
	unsigned n = atomic_load(&the_bridge.n_agents);

	for (unsigned i = 0; i < n; i++)
		if (!the_bridge.agents[i].lean && !the_bridge.agents[i].failed)
			return true;
	return any_agent_wants(JVMPI_EVENT_CLASS_LOAD) || any_agent_wants(JVMPI_EVENT_CLASS_UNLOAD) ||
	       any_agent_wants(JVMPI_EVENT_OBJECT_FREE);
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
