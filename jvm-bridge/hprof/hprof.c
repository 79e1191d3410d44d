/* The agent's entry point, and the way of events to its parts. */
#include "jvm-bridge/hprof/hprof.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "jvm-bridge/hprof/cpu_samples.h"
#include "jvm-bridge/hprof/cpu_times.h"
#include "jvm-bridge/hprof/dump.h"
#include "jvm-bridge/hprof/out.h"
#include "jvm-bridge/hprof/text.h"

struct hprof hprof;

static JavaVM *the_vm;

void hprof_error(const char *fmt, ...)
{
	char line[2048];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	for (int i = 0; i < n && i < (int)sizeof(line) - 1; i++)
		if ((unsigned char)line[i] < ' ')
			line[i] = '?';
	fprintf(stderr, "HPROF ERROR: %s\n", line);
}

static void on_thread_start(const JVMPI_Event *e)
{
	struct java_thread *t = thread_started(e);

	if (t)
		text_thread_start(t);
}

static void on_thread_end(JNIEnv *env)
{
	uint32_t serial = thread_ended(env);

	if (serial)
		text_thread_end(serial);
}

static void on_definition(const JVMPI_Event *e, jint type)
{
	data_lock();
	if (!hprof.ended) {
		switch (type) {
		case JVMPI_EVENT_CLASS_LOAD: class_loaded(e); break;
		case JVMPI_EVENT_CLASS_UNLOAD: class_unloaded(e->u.class_unload.class_id); break;
		case JVMPI_EVENT_THREAD_START: on_thread_start(e); break;
		case JVMPI_EVENT_THREAD_END: on_thread_end(e->env_id); break;
		}
	}
	data_unlock();
}

static void on_init_done(void)
{
	if (hprof.options.cpu == CPU_SAMPLES && cpu_samples_start(the_vm))
		hprof_error("there can be no thread for cpu=samples: nothing is sampled");
}

static void notify(JVMPI_Event *e)
{
	jint type = e->event_type & ~JVMPI_REQUESTED_EVENT;

	switch (type) {
	case JVMPI_EVENT_METHOD_ENTRY: cpu_times_entered(e->env_id, e->u.method.method_id); break;
	case JVMPI_EVENT_METHOD_EXIT: cpu_times_left(e->env_id, e->u.method.method_id); break;
	case JVMPI_EVENT_JVM_INIT_DONE: on_init_done(); break;
	case JVMPI_EVENT_DATA_DUMP_REQUEST: dump_write(); break;
	case JVMPI_EVENT_JVM_SHUT_DOWN: dump_end(); break;
	default:
		on_definition(e, type);
		if (type == JVMPI_EVENT_THREAD_END && hprof.options.cpu >= CPU_TIMES)
			cpu_times_thread_ended(e->env_id);
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

static bool events_enable(void)
{
	if (!ENABLE(JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_CLASS_UNLOAD, JVMPI_EVENT_THREAD_START, JVMPI_EVENT_THREAD_END,
		    JVMPI_EVENT_JVM_INIT_DONE, JVMPI_EVENT_JVM_SHUT_DOWN, JVMPI_EVENT_DATA_DUMP_REQUEST)) {
		hprof_error("this JVM does not tell of its classes and threads");
		return false;
	}
	if (hprof.options.cpu >= CPU_TIMES && !ENABLE(JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_METHOD_EXIT)) {
		hprof_error("cpu=times and cpu=old: this JVM does not tell of calls; the agent must be there from its "
			    "start");
		return false;
	}
	return true;
}

/* What this build has not. */
static const char *missing(const struct hprof_options *o)
{
	if (o->heap)
		return "heap=dump|sites|all is not in this build; choose cpu=samples, cpu=times or cpu=old";
	if (o->monitor)
		return "monitor=y is not in this build";
	if (o->format == FORMAT_BINARY)
		return "format=b is not in this build";
	return NULL;
}

static int options_read(const char *text)
{
	const char *more = getenv("_JAVA_HPROF_OPTIONS"), *not_here;
	struct hprof_options *o = &hprof.options;
	char why[256];

	if (hprof_options_parse(text, more, o, why, sizeof(why))) {
		fprintf(stderr, "hprof option error: %s (%.1000s%s%.1000s)\n", why, text ? text : "", more ? "," : "",
			more ? more : "");
		return -EINVAL;
	}
	not_here = o->help ? NULL : missing(o);
	if (not_here)
		hprof_error("%s", not_here);
	if (o->cpu == CPU_OLD)
		o->depth = 2;
	return not_here ? -ENOTSUP : 0;
}

/* The host was loaded into a JVM that runs: nothing of the agent may end that. HotSpot names its threads so. */
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

/* JNI_ERR ends the start of the JVM with status 1, and is harmless in one that runs. */
JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	static char name[] = "_hprof data";
	void *interface = NULL;

	(void)reserved;
	if (hprof.jvmpi) {
		hprof_error("the agent is loaded already");
		return JNI_ERR;
	}
	if ((*vm)->GetEnv(vm, &interface, JVMPI_VERSION_1_2) < 0 || !interface) {
		hprof_error("this JVM has no JVMPI: load libjsampler-bridge.so before the agent");
		return JNI_ERR;
	}
	the_vm = vm;
	hprof.jvmpi = interface;
	if (options_read(options) || (!hprof.options.help && out_open(&hprof.options))) {
		hprof.jvmpi = NULL;
		return JNI_ERR;
	}
	if (hprof.options.help)
		return help();
	hprof.data = hprof.jvmpi->RawMonitorCreate(name);
	hprof.jvmpi->NotifyEvent = notify;
	text_header();
	if (hprof.data && events_enable())
		return JNI_OK;
	out_close();
	return JNI_ERR;
}
