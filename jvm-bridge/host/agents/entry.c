/* The library's exported functions, and the phases of the JVM. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jvm-bridge/host/agents/agent.h"
#include "jvm-bridge/host/agents/options.h"
#include "jvm-bridge/host/alloc.h"
#include "jvm-bridge/host/base/registers.h"
#include "jvm-bridge/host/classes/class.h"
#include "jvm-bridge/host/classes/code.h"
#include "jvm-bridge/host/collections/gc.h"
#include "jvm-bridge/host/dumps/dump.h"
#include "jvm-bridge/host/event.h"
#include "jvm-bridge/host/events/contention.h"
#include "jvm-bridge/host/events/hook.h"
#include "jvm-bridge/host/events/inserted.h"
#include "jvm-bridge/host/events/method.h"
#include "jvm-bridge/host/gate.h"
#include "jvm-bridge/host/pump.h"
#include "jvm-bridge/host/stacks/stacks.h"
#include "jvm-bridge/host/step.h"
#include "jvm-bridge/host/support.h"
#include "jvm-bridge/host/thread.h"
#include "jvm-bridge/stream/stream.h"
#include "jvm-bridge/stream/wire.h"

enum { PENDING_MAX = 16 };

/* Agents named at JVM start; loaded once the JVM is live. */
static struct {
	struct options options[PENDING_MAX];
	unsigned n;
} pending;

static int stream_begin(const char *path, bool standing)
{
	struct agent *a = agent_of((const void *)stream_load, false);
	int r;

	if (!a)
		return WIRE_ATTACH_MEMORY;
	/* Acts as JVM_OnLoad of the built-in agent. */
	atomic_store(&the_bridge.loading, a);
	r = stream_load(the_bridge.vm, path, standing);
	atomic_store(&the_bridge.loading, NULL);
	if (r == WIRE_ATTACH_PATH)
		bridge_say("stream=%.120s: the path must be absolute and no longer than %d bytes", path, WIRE_PATH_MAX);
	return r;
}

static int options_run(struct options *o, bool standing)
{
	int r = 0;

	if (o->dump_limit)
		dump_limit_set(o->dump_limit);
	if (o->stream)
		r = stream_begin(o->stream, standing);
	if (!r && o->agent)
		r = agent_host(o->agent, o->agent_options, o->quiet) ? WIRE_ATTACH_JVM : 0;
	return r;
}

static void agents_start(JNIEnv *env)
{
	atomic_store(&the_bridge.started, true);
	for (unsigned i = 0; i < atomic_load(&the_bridge.n_agents); i++)
		agent_start(&the_bridge.agents[i], env);
}

static void bridge_live(JNIEnv *env)
{
	uint64_t distance;

	atomic_store(&the_bridge.live, true);
	thread_current();
	distance = threads_find_existing(env);
	if (distance)
		stacks_live(env, distance);
}

static void JNICALL on_vm_init(jvmtiEnv *ti, JNIEnv *env, jthread thread)
{
	(void)ti, (void)thread;
	bridge_live(env);
	for (unsigned i = 0; i < pending.n; i++) {
		/* As in old JVMs, a failing JVM_OnLoad ends the JVM's start; the reason has been printed. */
		if (options_run(&pending.options[i], true))
			exit(1);
	}
	agents_start(env);
}

static void JNICALL on_vm_death(jvmtiEnv *ti, JNIEnv *env)
{
	JVMPI_Event e = {.event_type = JVMPI_EVENT_JVM_SHUT_DOWN};
	struct thread *t = thread_current();

	(void)ti, (void)env;
	gate_end(t);
	event_send_all(t, &e, GC_MAY);
	inserted_end();
	exit_watch();
	atomic_store(&the_bridge.dead, true);
	pump_shutdown();
}

static void JNICALL on_end(jvmtiEnv *ti, JNIEnv *env, jthread thread)
{
	struct thread *t = thread_find(env);

	on_thread_end(ti, env, thread); /* after which no clock is made for it */
	stacks_end(t);
}

static void JNICALL on_class_prepare(jvmtiEnv *ti, JNIEnv *env, jthread thread, jclass klass)
{
	struct thread *t = thread_current();
	unsigned n = atomic_load(&the_bridge.n_agents);

	(void)ti, (void)thread;
	for (unsigned i = 0; i < n && t && !atomic_load(&the_bridge.dead); i++)
		if (agent_wants(&the_bridge.agents[i], JVMPI_EVENT_CLASS_LOAD) && the_bridge.agents[i].started)
			class_report(&the_bridge.agents[i], t, env, klass);
}

static void JNICALL on_data_dump(jvmtiEnv *ti)
{
	struct thread *t = thread_current();
	JVMPI_Event e = {.event_type = JVMPI_EVENT_DATA_DUMP_REQUEST};

	(void)ti;
	event_send_all(t, &e, GC_MAY);
	e.event_type = JVMPI_EVENT_DATA_RESET_REQUEST;
	event_send_all(t, &e, GC_MAY);
}

static const jvmtiEventCallbacks callbacks = {
	.VMInit = on_vm_init,
	.VMDeath = on_vm_death,
	.ThreadStart = on_thread_start,
	.ThreadEnd = on_end,
	.ClassPrepare = on_class_prepare,
	.CompiledMethodLoad = on_code_load,
	.CompiledMethodUnload = on_code_unload,
	.DynamicCodeGenerated = on_dynamic_code,
	.DataDumpRequest = on_data_dump,
	.GarbageCollectionStart = on_gc_start,
	.GarbageCollectionFinish = on_gc_finish,
	.ObjectFree = on_object_free,
	.SampledObjectAlloc = on_sampled_alloc,
	.VMObjectAlloc = on_vm_alloc,
	.ClassFileLoadHook = on_class_file,
	.MethodEntry = on_method_entry,
	.MethodExit = on_method_exit,
	.SingleStep = on_single_step,
	.MonitorContendedEnter = on_monitor_enter,
	.MonitorContendedEntered = on_monitor_entered,
	.MonitorWait = on_monitor_wait,
	.MonitorWaited = on_monitor_waited,
};

/* Always enabled; the others when agents want them (event_modes_apply()). */
static const jvmtiEvent always[] = {JVMTI_EVENT_VM_INIT, JVMTI_EVENT_VM_DEATH, JVMTI_EVENT_THREAD_START,
				    JVMTI_EVENT_THREAD_END};

static int bridge_open(JavaVM *vm)
{
	void *ti = NULL;

	if (the_bridge.ti)
		return 0;
	if ((*vm)->GetEnv(vm, &ti, JVMTI_VERSION_1_2) || !ti) {
		bridge_say("this JVM does not support JVMTI 1.2");
		return -ENOSYS;
	}
	the_bridge.ti = ti;
	the_bridge.insert_allocs = allocs_insert;
	gc_init();
	vm_patch(vm);
	if ((*the_bridge.ti)->SetEventCallbacks(ti, &callbacks, sizeof(callbacks)))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
		if ((*the_bridge.ti)->SetEventNotificationMode(ti, JVMTI_ENABLE, always[i], NULL))
			return -EINVAL;
	return 0;
}

/* A plain -Xrun agent asks too late for capabilities: the JVM's arguments announce it. -1: unknown. */
static int file_has(const char *path, const char *word)
{
	FILE *f = fopen(path, "re");
	size_t at = 0;
	int c, found = f ? 0 : -1;

	while (f && !found && (c = getc(f)) != EOF) {
		at = c == word[at] ? at + 1 : c == word[0];
		found = !word[at];
	}
	if (f)
		fclose(f);
	return found;
}

/* All agents get calls in the same way; none that has them already is to lose any. false: impossible, said. */
static bool calls_choose(const struct options *o)
{
	bool inserted = the_bridge.insert_calls;

	if (o->calls == CALLS_NOT_GIVEN || (o->calls == CALLS_INSERTED) == inserted)
		return true;
	if (inserted || any_agent_wants(JVMPI_EVENT_METHOD_ENTRY) || any_agent_wants(JVMPI_EVENT_METHOD_ENTRY2) ||
	    any_agent_wants(JVMPI_EVENT_METHOD_EXIT)) {
		bridge_say("calls=%s: calls are already reported the other way", inserted ? "events" : "inserted");
		return false;
	}
	if (inserted_open())
		return true;
	bridge_say("calls=inserted: this JVM does not let classes be changed");
	return false;
}

/* Capabilities must be taken here, or never: see support.h. false: an unknown event. */
static bool events_ask(const struct options *o)
{
	if (o->events)
		return !support_ask(o->events);
	if (o->agent ||
	    (!o->stream && (file_has("/proc/self/cmdline", "-Xrun") || file_has("/proc/self/environ", "-Xrun"))))
		support_ask_usual();
	return true;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *text, void *reserved)
{
	struct options o;
	char why[512];

	(void)reserved;
	if (options_parse(text, &o, why, sizeof(why))) {
		bridge_say("%s", why);
		return JNI_ERR;
	}
	if (bridge_open(vm) || pending.n == PENDING_MAX) {
		options_done(&o);
		return JNI_ERR;
	}
	if (!calls_choose(&o)) {
		options_done(&o);
		return JNI_ERR;
	}
	if (!events_ask(&o)) {
		bridge_say("events=%.200s: unknown event; use names of JVMPI events, as in METHOD_ENTRY+HEAP_DUMP",
			   o.events);
		return JNI_ERR;
	}
	the_bridge.slashes |= o.slashes;
	the_bridge.by_registers |= o.registers;
	if (o.signal)
		stacks_open();
	if (o.early && o.agent) {
		if (agent_host(o.agent, o.agent_options, o.quiet))
			return JNI_ERR;
		o.agent = NULL;
	}
	pending.options[pending.n++] = o;
	return JNI_OK;
}

/* The attach protocol reports the return value: enum wire_attach. */
JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *text, void *reserved)
{
	struct options o;
	char why[512];
	void *env = NULL;
	int r;

	(void)reserved;
	if (options_parse(text, &o, why, sizeof(why))) {
		bridge_say("%s", why);
		return WIRE_ATTACH_OPTIONS;
	}
	the_bridge.by_registers |= o.registers;
	r = (*vm)->GetEnv(vm, &env, JNI_VERSION_1_6) || bridge_open(vm) ? WIRE_ATTACH_JVM : 0;
	if (!r && !calls_choose(&o))
		r = WIRE_ATTACH_OPTIONS;
	if (!r && o.events && support_ask(o.events))
		r = WIRE_ATTACH_OPTIONS;
	if (!r && o.signal)
		stacks_open();
	/* The location of registers and stacks is learnt together with the threads: again if it is asked for later. */
	if (!r && (!atomic_load(&the_bridge.live) || o.signal || (o.registers && !registers_known())))
		bridge_live(env);
	if (!r) {
		the_bridge.slashes |= o.slashes;
		r = options_run(&o, false);
		agents_start(env);
	}
	/* An agent may keep its options: the text is not freed. */
	if (!o.agent)
		options_done(&o);
	return r;
}

JNIEXPORT void JNICALL Agent_OnUnload(JavaVM *vm)
{
	(void)vm;
	vm_unpatch();
}
