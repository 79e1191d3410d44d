/* Everything enabled, dumps and collections all the time, and all that can be is enabled and disabled: nobody gets stuck. */
#include <unistd.h>

#include "tests/jvmpi/events.h"

static struct {
	_Atomic bool stop, stopped;
	_Atomic unsigned events, heaps, monitors;
	JVMPI_RawMonitor monitor;
	_Atomic unsigned sink;
} s;

/* As agents of the time do: a lock of its own for what it counts. */
static void storm_seen(JVMPI_Event *e, jint type)
{
	if (type == JVMPI_EVENT_JVM_SHUT_DOWN)
		return;
	jvmpi->RawMonitorEnter(s.monitor);
	s.events++;
	s.heaps += type == JVMPI_EVENT_HEAP_DUMP;
	s.monitors += type == JVMPI_EVENT_MONITOR_DUMP;
	for (const char *p = e->u.heap_dump.begin; type == JVMPI_EVENT_HEAP_DUMP && p < e->u.heap_dump.end; p += 64)
		s.sink += (unsigned)*p;
	jvmpi->RawMonitorExit(s.monitor);
}

static void storm_main(void *arg)
{
	static const jint slow[] = {JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_METHOD_ENTRY2, JVMPI_EVENT_METHOD_EXIT,
				    JVMPI_EVENT_INSTRUCTION_START};
	JVMPI_HeapDumpArg level = {0};

	(void)arg;
	for (unsigned i = 0; !s.stop; i++) {
		jint type = slow[i % (sizeof(slow) / sizeof(*slow))];

		jvmpi->EnableEvent(type, NULL);
		usleep(20000);
		jvmpi->DisableEvent(type, NULL);
		jvmpi->RequestEvent(JVMPI_EVENT_MONITOR_DUMP, NULL);
		level.heap_dump_level = (jint)(i % 3);
		jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, &level);
		if (i % 4 == 0)
			jvmpi->RunGC();
		usleep(20000);
	}
	s.stopped = true;
}

static void storm_begin(JNIEnv *env)
{
	static char name[] = "storm";

	(void)env;
	check("events under load", jvmpi->CreateSystemThread(name, JVMPI_NORMAL_PRIORITY, storm_main) == JNI_OK,
	      "no thread");
}

static void storm_end(JNIEnv *env)
{
	(void)env;
	s.stop = true;
	while (!s.stopped)
		usleep(1000);
	check("events under load", s.events > 1000 && s.heaps && s.monitors, "%u events, %u heap dumps, %u of monitors",
	      s.events, s.heaps, s.monitors);
}

static void storm_load(void)
{
	static char name[] = "_storm";

	s.monitor = jvmpi->RawMonitorCreate(name);
}

static const jint storm_types[] = {JVMPI_EVENT_OBJECT_ALLOC,
				   JVMPI_EVENT_OBJECT_FREE,
				   JVMPI_EVENT_OBJECT_MOVE,
				   JVMPI_EVENT_CLASS_LOAD_HOOK,
				   JVMPI_EVENT_CLASS_UNLOAD,
				   JVMPI_EVENT_THREAD_START,
				   JVMPI_EVENT_THREAD_END,
				   JVMPI_EVENT_COMPILED_METHOD_LOAD,
				   JVMPI_EVENT_COMPILED_METHOD_UNLOAD,
				   JVMPI_EVENT_JNI_GLOBALREF_ALLOC,
				   JVMPI_EVENT_JNI_GLOBALREF_FREE,
				   JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC,
				   JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE,
				   JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER,
				   JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED,
				   JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT,
				   JVMPI_EVENT_MONITOR_CONTENDED_ENTER,
				   JVMPI_EVENT_MONITOR_CONTENDED_ENTERED,
				   JVMPI_EVENT_MONITOR_CONTENDED_EXIT,
				   JVMPI_EVENT_MONITOR_WAIT,
				   JVMPI_EVENT_MONITOR_WAITED,
				   JVMPI_EVENT_GC_START,
				   JVMPI_EVENT_GC_FINISH,
				   0};

const struct kind kind_storm = {.what = "storm",
				.types = storm_types,
				.load = storm_load,
				.seen = storm_seen,
				.begin = storm_begin,
				.end = storm_end};
