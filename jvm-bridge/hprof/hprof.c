/* The agent's entry point; dispatches events to its parts. */
#include "jvm-bridge/hprof/base/hprof.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "jvm-bridge/hprof/base/out.h"
#include "jvm-bridge/hprof/commands.h"
#include "jvm-bridge/hprof/dump.h"
#include "jvm-bridge/hprof/format/binary.h"
#include "jvm-bridge/hprof/format/text.h"
#include "jvm-bridge/hprof/heap_events.h"
#include "jvm-bridge/hprof/monitor_events.h"
#include "jvm-bridge/hprof/tables/cpu_samples.h"
#include "jvm-bridge/hprof/tables/cpu_times.h"
#include "jvm-bridge/hprof/tables/monitors.h"

static void on_thread_start(const JVMPI_Event *e)
{
	struct java_thread *t = thread_started(e);

	if (t)
		is_binary() ? binary_thread_start(t) : text_thread_start(t);
}

static void on_thread_end(JNIEnv *env)
{
	uint32_t serial = thread_ended(env);

	if (serial)
		is_binary() ? binary_thread_end(serial) : text_thread_end(serial);
}

static void on_class_unload(jobjectID id)
{
	uint32_t serial = class_unloaded(id);

	if (serial)
		binary_class_unloaded(serial);
}

static void on_alloc(const JVMPI_Event *e)
{
	if (!hprof.allocs_paused)
		sites_object_made(e, trace_here(e->env_id));
}

static void on_tables(const JVMPI_Event *e)
{
	data_lock();
	if (!hprof.ended) {
		switch (e->event_type & ~JVMPI_REQUESTED_EVENT) {
		case JVMPI_EVENT_CLASS_LOAD: class_loaded(e); break;
		case JVMPI_EVENT_CLASS_UNLOAD: on_class_unload(e->u.class_unload.class_id); break;
		case JVMPI_EVENT_THREAD_START: on_thread_start(e); break;
		case JVMPI_EVENT_THREAD_END: on_thread_end(e->env_id); break;
		case JVMPI_EVENT_OBJECT_FREE: sites_object_freed(e->u.obj_free.obj_id); break;
		case JVMPI_EVENT_OBJECT_ALLOC:
			e->event_type &JVMPI_REQUESTED_EVENT ? monitors_object(e) : on_alloc(e);
			break;
		}
	}
	data_unlock();
}

static void on_init_done(void)
{
	if (hprof.options.cpu == CPU_SAMPLES && cpu_samples_start())
		hprof_error("cannot start the thread for cpu=samples: nothing will be sampled");
	if (hprof.options.port && commands_start())
		hprof_error("cannot start the thread for net=: commands will not be read");
}

static void notify(JVMPI_Event *e)
{
	switch (e->event_type & ~JVMPI_REQUESTED_EVENT) {
	case JVMPI_EVENT_METHOD_ENTRY: cpu_times_entered(e->env_id, e->u.method.method_id); break;
	case JVMPI_EVENT_METHOD_EXIT: cpu_times_left(e->env_id, e->u.method.method_id); break;
	case JVMPI_EVENT_JVM_INIT_DONE: on_init_done(); break;
	case JVMPI_EVENT_DATA_DUMP_REQUEST: dump_write(); break;
	case JVMPI_EVENT_JVM_SHUT_DOWN: dump_end(); break;
	case JVMPI_EVENT_HEAP_DUMP: heap_dumped(e); break;
	case JVMPI_EVENT_MONITOR_DUMP: monitors_dumped(e); break;
	case JVMPI_EVENT_MONITOR_CONTENDED_ENTER:
	case JVMPI_EVENT_MONITOR_CONTENDED_ENTERED:
	case JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER:
	case JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED:
	case JVMPI_EVENT_MONITOR_WAIT:
	case JVMPI_EVENT_MONITOR_WAITED: monitors_event(e); break;
	case JVMPI_EVENT_THREAD_END:
		on_tables(e);
		if (hprof.options.cpu >= CPU_TIMES)
			cpu_times_thread_ended(e->env_id);
		break;
	default: on_tables(e);
	}
}

static bool enable(const jint *events, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (hprof.jvmpi->EnableEvent(events[i], NULL))
			return false;
	return true;
}

#define ENABLE(...) enable((const jint[]){__VA_ARGS__}, sizeof((const jint[]){__VA_ARGS__}) / sizeof(jint))

/* A heap dump is useful without allocation events, sites are not. */
static bool allocations_enable(void)
{
	if (ENABLE(JVMPI_EVENT_OBJECT_FREE, JVMPI_EVENT_OBJECT_ALLOC))
		return true;
	hprof_error("allocations are not reported in this JVM%s",
		    hprof.options.heap & HEAP_DUMP ?
			    ": objects in the heap dump will have no traces, and there will be no SITES" :
			    "");
	hprof.options.heap &= ~(unsigned)HEAP_SITES;
	return hprof.options.heap;
}

static bool monitors_enable(void)
{
	if (ENABLE(JVMPI_EVENT_MONITOR_CONTENDED_ENTER, JVMPI_EVENT_MONITOR_CONTENDED_ENTERED, JVMPI_EVENT_MONITOR_WAIT,
		   JVMPI_EVENT_MONITOR_WAITED, JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER,
		   JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED))
		return true;
	hprof_error("monitor=y: this JVM does not report monitor events");
	return false;
}

/* The JVM's own dumper does not know where objects were allocated. */
static bool wants_allocations(const struct hprof_options *o)
{
	return o->heap && !(o->heap == HEAP_DUMP && o->format == FORMAT_BINARY && o->dumper == DUMPER_VM);
}

static bool events_enable(void)
{
	const struct hprof_options *o = &hprof.options;

	if (!ENABLE(JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_CLASS_UNLOAD, JVMPI_EVENT_THREAD_START, JVMPI_EVENT_THREAD_END,
		    JVMPI_EVENT_JVM_INIT_DONE, JVMPI_EVENT_JVM_SHUT_DOWN, JVMPI_EVENT_DATA_DUMP_REQUEST)) {
		hprof_error("this JVM does not report classes and threads");
		return false;
	}
	if (o->cpu >= CPU_TIMES && !ENABLE(JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_METHOD_EXIT)) {
		hprof_error("cpu=times and cpu=old: this JVM does not report method calls; load the agent when the "
			    "JVM starts");
		return false;
	}
	return (!wants_allocations(o) || allocations_enable()) && (!o->monitor || monitors_enable());
}

static int options_read(const char *text)
{
	const char *more = getenv("_JAVA_HPROF_OPTIONS");
	struct hprof_options *o = &hprof.options;
	char why[256];

	if (hprof_options_parse(text, more, o, why, sizeof(why))) {
		fprintf(stderr, "hprof option error: %s (%.1000s%s%.1000s)\n", why, text ? text : "", more ? "," : "",
			more ? more : "");
		return -EINVAL;
	}
	if (o->cpu == CPU_OLD)
		o->depth = 2;
	return 0;
}

/* The host was loaded into a running JVM, which the agent must not end. HotSpot gives the thread that name. */
static bool is_attached(void)
{
	char name[17] = "";

	return !prctl(PR_GET_NAME, name) && !strcmp(name, "Attach Listener");
}

static jint help(void)
{
	fputs(hprof_help, stdout);
	fflush(stdout);
	if (!is_attached())
		hprof.jvmpi->ProfilerExit(0);
	return JNI_ERR;
}

/* JNI_ERR makes a starting JVM exit with status 1; in a running one it is harmless. */
JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	static char name[] = "_hprof data";
	void *interface = NULL;

	(void)reserved;
	if (hprof.jvmpi) {
		hprof_error("the agent is already loaded");
		return JNI_ERR;
	}
	if ((*vm)->GetEnv(vm, &interface, JVMPI_VERSION_1_2) < 0 || !interface) {
		hprof_error("this JVM has no JVMPI: load libjsampler-bridge.so before the agent");
		return JNI_ERR;
	}
	hprof.vm = vm;
	hprof.jvmpi = interface;
	if (options_read(options) || (!hprof.options.help && out_open(&hprof.options))) {
		hprof.jvmpi = NULL;
		return JNI_ERR;
	}
	if (hprof.options.help)
		return help();
	hprof.data = hprof.jvmpi->RawMonitorCreate(name);
	hprof.jvmpi->NotifyEvent = notify;
	is_binary() ? binary_header() : text_header();
	if (hprof.data && !dump_init() && events_enable())
		return JNI_OK;
	out_close();
	return JNI_ERR;
}
