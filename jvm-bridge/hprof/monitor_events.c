#include "jvm-bridge/hprof/monitor_events.h"

#include <time.h>

#include "jvm-bridge/hprof/base/hprof.h"
#include "jvm-bridge/hprof/format/text_monitors.h"
#include "jvm-bridge/hprof/tables/monitors.h"
#include "jvm-bridge/hprof/tables/threads.h"

static uint64_t now(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void wait_print(const JVMPI_Event *e, bool waited)
{
	jobjectID id = e->u.monitor_wait.object;
	long long ms = (long long)e->u.monitor_wait.timeout;

	if (id)
		text_wait(monitor_kind(id), waited, ms, thread_serial(e->env_id));
	else if (!waited)
		text_sleep(ms, thread_serial(e->env_id));
}

void monitors_event(const JVMPI_Event *e)
{
	uint64_t at = now(); /* before the lock: waiting for that is not contention of the program */

	data_lock();
	if (!hprof.ended)
		switch (e->event_type) {
		case JVMPI_EVENT_MONITOR_CONTENDED_ENTER: contention_enter(e, false, at); break;
		case JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER: contention_enter(e, true, at); break;
		case JVMPI_EVENT_MONITOR_CONTENDED_ENTERED:
		case JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED: contention_entered(e, at); break;
		case JVMPI_EVENT_MONITOR_WAIT: wait_print(e, false); break;
		case JVMPI_EVENT_MONITOR_WAITED: wait_print(e, true); break;
		}
	data_unlock();
}

void monitors_dumped(const JVMPI_Event *e)
{
	data_lock();
	if (e->u.monitor_dump.traces)
		stacks_set(e->u.monitor_dump.traces, e->u.monitor_dump.num_traces);
	text_monitor_dump(e, monitor_kind);
	data_unlock();
}

void monitors_dump_write(void)
{
	static bool said;
	jint r = hprof.jvmpi->RequestEvent(JVMPI_EVENT_MONITOR_DUMP, NULL);

	if (r && !said)
		hprof_error(r == JVMPI_NOT_AVAILABLE ? "no MONITOR DUMP: the agent must be loaded when the JVM starts" :
						       "MONITOR DUMP failed");
	said |= r != 0;
}
