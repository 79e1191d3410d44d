/* EnableEvent, DisableEvent and RequestEvent. */
#include "jvm-bridge/host/agents/agent.h"
#include "jvm-bridge/host/alloc.h"
#include "jvm-bridge/host/base/address.h"
#include "jvm-bridge/host/classes/class.h"
#include "jvm-bridge/host/classes/code.h"
#include "jvm-bridge/host/collections/gc.h"
#include "jvm-bridge/host/dumps/dump.h"
#include "jvm-bridge/host/dumps/monitor_dump.h"
#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/id.h"
#include "jvm-bridge/host/support.h"
#include "jvm-bridge/host/thread.h"

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
	before = on ? atomic_fetch_or(&a->enabled, event_bit(type)) : atomic_fetch_and(&a->enabled, ~event_bit(type));
	event_modes_apply();
	if (!on && a->lean && !events_want_ids())
		gc_ids_release();
	/* Report existing code, but not on this thread, which may hold locks that the handler takes. */
	if (on && !(before & event_bit(type)) && is_code(type) && a->started && !a->lean && !gc_pump_wants_code(a))
		bridge_say("event %d is not sent for code that is already compiled: cannot start a thread", (int)type);
	return JVMPI_SUCCESS;
}

/* EnableEvent succeeded, but the event may turn out to be unavailable. */
static void event_check(struct agent *a, jint type)
{
	if (!agent_wants(a, type) || support_prepare(type))
		return;
	atomic_fetch_and(&a->enabled, ~event_bit(type));
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
		ok = class_report_all(a, t, t->env, true);
	if (agent_wants(a, JVMPI_EVENT_THREAD_START))
		threads_announce(a, t, JVMPI_REQUESTED_EVENT);
	code_report_all(a, t, JVMPI_REQUESTED_EVENT);
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
