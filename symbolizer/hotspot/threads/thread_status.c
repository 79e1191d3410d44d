#include "symbolizer/hotspot/objects/java_objects.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"
#include "symbolizer/hotspot/threads/thread_list.h"

/*
 * Bits of threadStatus: those of JVMTI's GetThreadState, since JDK 5 (javaThreadStatus.hpp in 17 and
 * 25, java_lang_Thread::ThreadStatus in 8).
 */
enum { STATUS_SLEEPING = 0x40, STATUS_OBJECT = 0x100, STATUS_PARKED = 0x200, STATUS_MONITOR = 0x400 };

enum hs_wait hs_thread_wait(struct hotspot *hs, const struct hs_thread *t)
{
	uint64_t thread;
	uint32_t status;

	if (!thread_oop(hs->jvm, t, &thread) || !java_thread_status(hs->threads->objects, thread, &status))
		return HS_WAIT_UNKNOWN;
	if (status & STATUS_MONITOR)
		return HS_WAIT_MONITOR;
	if (status & STATUS_SLEEPING)
		return HS_WAIT_SLEEP;
	if (status & STATUS_OBJECT)
		return HS_WAIT_OBJECT;
	return status & STATUS_PARKED ? HS_WAIT_PARK : HS_WAIT_UNKNOWN;
}
