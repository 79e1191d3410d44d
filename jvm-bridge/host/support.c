#include "jvm-bridge/host/support.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "jvm-bridge/host/alloc.h"
#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/id.h"
#include "jvm-bridge/host/owner.h"
#include "jvm-bridge/host/pump.h"
#include "jvm-bridge/host/refs.h"
#include "jvm-bridge/host/thread.h"

/* Bits of jvmtiCapabilities, not names: one binary serves JDKs whose structs differ. */
enum {
	CAN_GET_BYTECODES = 3,
	CAN_GET_OWNED_MONITORS = 5,
	CAN_GET_CONTENDED_MONITOR = 6,
	CAN_GET_MONITOR_INFO = 7,
	CAN_ACCESS_LOCALS = 14,
	CAN_SINGLE_STEP = 16,
	CAN_METHOD_ENTRY_EVENTS = 24,
	CAN_METHOD_EXIT_EVENTS = 25,
	CAN_ALL_CLASS_HOOKS = 26,
	CAN_COMPILED_METHOD_EVENTS = 27,
	CAN_MONITOR_EVENTS = 28,
	CAN_VM_ALLOC_EVENTS = 29,
	CAN_GC_EVENTS = 31,
	CAN_SAMPLED_ALLOC_EVENTS = 43,
};

#define CAN(n) (1ull << (n))
/* Only available while the JVM starts. */
#define ONLOAD_ONLY                                                                                                    \
	(CAN(CAN_GET_OWNED_MONITORS) | CAN(CAN_GET_CONTENDED_MONITOR) | CAN(CAN_ACCESS_LOCALS) |                       \
	 CAN(CAN_SINGLE_STEP) | CAN(CAN_METHOD_ENTRY_EVENTS) | CAN(CAN_METHOD_EXIT_EVENTS))

#define CALLS_BY_EVENTS (CAN(CAN_METHOD_ENTRY_EVENTS) | CAN(CAN_METHOD_EXIT_EVENTS))

/* JDK 8 has JVMTI 1.2; later versions are those of the JDK. */
int jvm_release(void)
{
	jint version = 0;

	if ((*the_bridge.ti)->GetVersionNumber(the_bridge.ti, &version))
		return 0;
	version = (version & JVMTI_VERSION_MASK_MAJOR) >> JVMTI_VERSION_SHIFT_MAJOR;
	return version < 9 ? 8 : version;
}

/* On JDK 8 to 15, being able to access locals disables escape analysis. */
static bool locals_are_cheap(void)
{
	return jvm_release() >= 16;
}

static bool exits_prepare(void)
{
	return owner_is_asked() || owners_are_known();
}

enum { NEEDS_IDS = 1, NEEDS_PUMP = 2, ON_REQUEST = 4 /* only on request: it cannot be enabled */ };

#define NAMED(name) #name, JVMPI_EVENT_##name

static const struct support {
	const char *name;
	jint type;
	uint64_t capabilities;
	unsigned needs;
	bool (*prepare)(void); /* NULL: nothing */
	jvmtiEvent events[2]; /* JVMTI events that provide it; 0: none */
	/* clang-format off */
} supported[] = {
	{NAMED(CLASS_LOAD), 0, NEEDS_IDS, NULL, {JVMTI_EVENT_CLASS_PREPARE}},
	{NAMED(CLASS_UNLOAD), 0, NEEDS_IDS, NULL, {0}},
	{NAMED(COMPILED_METHOD_LOAD), CAN(CAN_COMPILED_METHOD_EVENTS), 0, NULL,
		{JVMTI_EVENT_COMPILED_METHOD_LOAD, JVMTI_EVENT_COMPILED_METHOD_UNLOAD}},
	{NAMED(COMPILED_METHOD_UNLOAD), CAN(CAN_COMPILED_METHOD_EVENTS), 0, NULL,
		{JVMTI_EVENT_COMPILED_METHOD_LOAD, JVMTI_EVENT_COMPILED_METHOD_UNLOAD}},
	{NAMED(THREAD_START), 0, NEEDS_IDS, NULL, {0}},
	{NAMED(THREAD_END), 0, 0, NULL, {0}},
	{NAMED(GC_START), CAN(CAN_GC_EVENTS), NEEDS_PUMP, NULL,
		{JVMTI_EVENT_GARBAGE_COLLECTION_START, JVMTI_EVENT_GARBAGE_COLLECTION_FINISH}},
	{NAMED(GC_FINISH), CAN(CAN_GC_EVENTS), NEEDS_PUMP, NULL,
		{JVMTI_EVENT_GARBAGE_COLLECTION_START, JVMTI_EVENT_GARBAGE_COLLECTION_FINISH}},
	{NAMED(METHOD_ENTRY), CAN(CAN_METHOD_ENTRY_EVENTS), 0, NULL, {JVMTI_EVENT_METHOD_ENTRY}},
	{NAMED(METHOD_ENTRY2), CAN(CAN_METHOD_ENTRY_EVENTS) | CAN(CAN_ACCESS_LOCALS), NEEDS_IDS, NULL, {JVMTI_EVENT_METHOD_ENTRY}},
	{NAMED(METHOD_EXIT), CAN(CAN_METHOD_EXIT_EVENTS), 0, NULL, {JVMTI_EVENT_METHOD_EXIT}},
	{NAMED(CLASS_LOAD_HOOK), CAN(CAN_ALL_CLASS_HOOKS), 0, NULL, {JVMTI_EVENT_CLASS_FILE_LOAD_HOOK}},
	{NAMED(INSTRUCTION_START), CAN(CAN_SINGLE_STEP) | CAN(CAN_GET_BYTECODES), 0, NULL, {JVMTI_EVENT_SINGLE_STEP}},
	{NAMED(RAW_MONITOR_CONTENDED_ENTER), 0, 0, NULL, {0}},
	{NAMED(RAW_MONITOR_CONTENDED_ENTERED), 0, 0, NULL, {0}},
	{NAMED(RAW_MONITOR_CONTENDED_EXIT), 0, 0, NULL, {0}},
	{NAMED(JNI_GLOBALREF_ALLOC), 0, NEEDS_IDS, refs_prepare, {0}},
	{NAMED(JNI_GLOBALREF_FREE), 0, 0, refs_prepare, {0}},
	{NAMED(JNI_WEAK_GLOBALREF_ALLOC), 0, NEEDS_IDS, refs_prepare, {0}},
	{NAMED(JNI_WEAK_GLOBALREF_FREE), 0, 0, refs_prepare, {0}},
	{NAMED(ARENA_NEW), 0, 0, NULL, {0}},
	{NAMED(ARENA_DELETE), 0, 0, NULL, {0}}, /* the only arena is never deleted */
	{NAMED(MONITOR_CONTENDED_ENTER), CAN(CAN_MONITOR_EVENTS), NEEDS_IDS, NULL, {JVMTI_EVENT_MONITOR_CONTENDED_ENTER}},
	{NAMED(MONITOR_CONTENDED_ENTERED), CAN(CAN_MONITOR_EVENTS), NEEDS_IDS, NULL, {JVMTI_EVENT_MONITOR_CONTENDED_ENTERED}},
	{NAMED(MONITOR_CONTENDED_EXIT), CAN(CAN_MONITOR_EVENTS) | CAN(CAN_GET_MONITOR_INFO), NEEDS_IDS, exits_prepare,
		{JVMTI_EVENT_MONITOR_CONTENDED_ENTER, JVMTI_EVENT_MONITOR_CONTENDED_ENTERED}},
	{NAMED(MONITOR_WAIT), CAN(CAN_MONITOR_EVENTS), NEEDS_IDS, NULL, {JVMTI_EVENT_MONITOR_WAIT}},
	{NAMED(MONITOR_WAITED), CAN(CAN_MONITOR_EVENTS), NEEDS_IDS, NULL, {JVMTI_EVENT_MONITOR_WAIT, JVMTI_EVENT_MONITOR_WAITED}},
	{NAMED(MONITOR_DUMP), CAN(CAN_GET_OWNED_MONITORS) | CAN(CAN_GET_CONTENDED_MONITOR) | CAN(CAN_GET_MONITOR_INFO),
		NEEDS_IDS | ON_REQUEST, NULL, {0}},
	{NAMED(HEAP_DUMP), 0, NEEDS_IDS | ON_REQUEST, NULL, {0}},
	{NAMED(OBJECT_DUMP), 0, NEEDS_IDS | ON_REQUEST, NULL, {0}},
	{NAMED(OBJECT_ALLOC), CAN(CAN_SAMPLED_ALLOC_EVENTS), NEEDS_IDS, alloc_prepare,
		{JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, JVMTI_EVENT_VM_OBJECT_ALLOC}},
	{NAMED(OBJECT_MOVE), 0, 0, NULL, {0}}, /* ids are stable: nothing ever moves */
	{NAMED(OBJECT_FREE), 0, NEEDS_IDS, NULL, {0}},
	{NAMED(DATA_DUMP_REQUEST), 0, 0, NULL, {JVMTI_EVENT_DATA_DUMP_REQUEST}},
	{NAMED(DATA_RESET_REQUEST), 0, 0, NULL, {JVMTI_EVENT_DATA_DUMP_REQUEST}},
	{NAMED(JVM_INIT_DONE), 0, 0, NULL, {0}},
	{NAMED(JVM_SHUT_DOWN), 0, 0, NULL, {0}},
	{NAMED(JS_CODE_LOAD), CAN(CAN_COMPILED_METHOD_EVENTS), 0, NULL,
		{JVMTI_EVENT_COMPILED_METHOD_LOAD, JVMTI_EVENT_COMPILED_METHOD_UNLOAD}},
	{NAMED(JS_CODE_UNLOAD), CAN(CAN_COMPILED_METHOD_EVENTS), 0, NULL,
		{JVMTI_EVENT_COMPILED_METHOD_LOAD, JVMTI_EVENT_COMPILED_METHOD_UNLOAD}},
	{NAMED(JS_DYNAMIC_CODE), 0, 0, NULL, {JVMTI_EVENT_DYNAMIC_CODE_GENERATED}},
	{NAMED(JS_GC_PAUSE), CAN(CAN_GC_EVENTS), NEEDS_PUMP, NULL,
		{JVMTI_EVENT_GARBAGE_COLLECTION_START, JVMTI_EVENT_GARBAGE_COLLECTION_FINISH}},
};
/* clang-format on */

enum { SUPPORTED = sizeof(supported) / sizeof(*supported) };

static const struct support *support_of(jint type)
{
	for (size_t i = 0; i < SUPPORTED; i++)
		if (supported[i].type == type)
			return &supported[i];
	return NULL;
}

static bool is_call(jint type)
{
	return type == JVMPI_EVENT_METHOD_ENTRY || type == JVMPI_EVENT_METHOD_ENTRY2 || type == JVMPI_EVENT_METHOD_EXIT;
}

static uint64_t capabilities_of(const struct support *s)
{
	bool inserted = is_call(s->type) && the_bridge.insert_calls;

	if (s->type == JVMPI_EVENT_OBJECT_ALLOC && !allocs_are_sampled())
		return CAN(CAN_VM_ALLOC_EVENTS);
	return s->capabilities & (inserted ? ~CALLS_BY_EVENTS : ~0ull);
}

static bool prepare(const struct support *s)
{
	if (is_call(s->type) && the_bridge.insert_calls)
		return the_bridge.insert_calls();
	return !s->prepare || s->prepare();
}

bool support_has(jint type)
{
	const struct support *s = support_of(type);

	return s && !(s->needs & ON_REQUEST);
}

/* Those that the bridge has now. */
static _Atomic uint64_t held;

static bool capabilities_take_locked(uint64_t wanted)
{
	for (int bit = 0; bit < 64; bit++) {
		jvmtiCapabilities one = {0};
		uint64_t mask = CAN(bit);

		if (!(wanted & mask) || (atomic_load(&held) & mask))
			continue;
		memcpy(&one, &mask, sizeof(mask));
		if ((*the_bridge.ti)->AddCapabilities(the_bridge.ti, &one))
			return false;
		atomic_fetch_or(&held, mask);
	}
	return true;
}

/*
 * Capabilities are taken when needed: some are exclusive, and an agent that enables nothing should cost nothing. Up to
 * JDK 17, JVMTI's functions for them take no lock: so the threads of the bridge call them under `steady`.
 */
static bool capabilities_take(uint64_t wanted)
{
	bool entered, ok;

	if ((atomic_load(&held) & wanted) == wanted)
		return true;
	entered = steady_enter();
	ok = capabilities_take_locked(wanted);
	steady_leave(entered);
	return ok;
}

void event_capability_drop(int bit)
{
	uint64_t mask = CAN(bit);
	jvmtiCapabilities one = {0};

	memcpy(&one, &mask, sizeof(mask));
	if ((atomic_load(&held) & mask) && !(*the_bridge.ti)->RelinquishCapabilities(the_bridge.ti, &one))
		atomic_fetch_and(&held, ~mask);
}

bool event_capabilities_add(int first, ...)
{
	uint64_t wanted = 0;
	va_list ap;

	va_start(ap, first);
	for (int bit = first; bit >= 0; bit = va_arg(ap, int))
		wanted |= CAN(bit);
	va_end(ap);
	return capabilities_take(wanted);
}

/* Between the JVM's first steps and VMInit, when a plain -Xrun agent is loaded, no capability is available. */
static bool is_between(void)
{
	jvmtiPhase phase;

	return !atomic_load(&the_bridge.live) &&
	       ((*the_bridge.ti)->GetPhase(the_bridge.ti, &phase) || phase != JVMTI_PHASE_ONLOAD);
}

bool support_possible(jint type)
{
	const struct support *s = support_of(type);

	if (!s)
		return false;
	/* What can be taken later will be; the rest is held by now, or never. */
	if (is_between())
		return capabilities_take(capabilities_of(s) & ONLOAD_ONLY);
	return capabilities_take(capabilities_of(s)) && (!(s->needs & NEEDS_IDS) || ids_are_possible());
}

bool support_prepare(jint type)
{
	const struct support *s = support_of(type);

	/* In this order: the later steps make JVMTI send events that agents have already enabled. */
	return support_possible(type) && prepare(s) && (!(s->needs & NEEDS_IDS) || ids_init(bridge_env())) &&
	       (!(s->needs & NEEDS_PUMP) || pump_start());
}

bool support_wants(jvmtiEvent event)
{
	if (the_bridge.insert_calls && (event == JVMTI_EVENT_METHOD_ENTRY || event == JVMTI_EVENT_METHOD_EXIT))
		return false;
	if (event == (allocs_are_sampled() ? JVMTI_EVENT_VM_OBJECT_ALLOC : JVMTI_EVENT_SAMPLED_OBJECT_ALLOC))
		return false;
	for (size_t i = 0; i < SUPPORTED; i++)
		if ((supported[i].events[0] == event || supported[i].events[1] == event) &&
		    any_agent_wants(supported[i].type))
			return true;
	return false;
}

int support_ask(const char *names)
{
	for (size_t n; *names; names += n + (names[n] == '+')) {
		const struct support *s = NULL;

		n = strcspn(names, "+");
		for (size_t i = 0; i < SUPPORTED && !s; i++)
			if (strlen(supported[i].name) == n && !strncmp(supported[i].name, names, n))
				s = &supported[i];
		if (!s)
			return -EINVAL;
		support_possible(s->type); /* EnableEvent will tell whether it is available */
	}
	return 0;
}

void support_ask_usual(void)
{
	uint64_t usual = ONLOAD_ONLY;

	if (!locals_are_cheap())
		usual &= ~CAN(CAN_ACCESS_LOCALS);
	if (the_bridge.insert_calls)
		usual &= ~CALLS_BY_EVENTS;

	/* One at a time: if another agent holds one, EnableEvent will report that. */
	for (int bit = 0; bit < 64; bit++)
		if (usual & CAN(bit))
			capabilities_take(CAN(bit));
}
