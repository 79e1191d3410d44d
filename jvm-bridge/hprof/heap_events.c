#include "jvm-bridge/hprof/heap_events.h"

#include "jvm-bridge/hprof/base/hprof.h"
#include "jvm-bridge/hprof/format/binary.h"
#include "jvm-bridge/hprof/format/text.h"
#include "jvm-bridge/hprof/tables/heap.h"
#include "jvm-bridge/hprof/tables/threads.h"

void heap_dumped(const JVMPI_Event *e)
{
	struct heap h;

	data_lock();
	stacks_set(e->u.heap_dump.traces, e->u.heap_dump.num_traces);
	if (!heap_open(&h, e))
		hprof_error("heap dump omitted");
	else
		is_binary() ? binary_heap(&h) : text_heap(&h);
	heap_close(&h);
	data_unlock();
}

/* The text format has no values of primitive types. */
bool heap_write(void)
{
	JVMPI_HeapDumpArg arg = {is_binary() ? JVMPI_DUMP_LEVEL_2 : JVMPI_DUMP_LEVEL_1};
	jint r = hprof.jvmpi->RequestEvent(JVMPI_EVENT_HEAP_DUMP, &arg);

	if (r)
		hprof_error(r == JVMPI_NOT_AVAILABLE ? "this JVM cannot make heap dumps" :
						       "the heap dump failed; see the message above");
	return !r;
}
