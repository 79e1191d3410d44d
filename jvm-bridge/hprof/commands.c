#include "jvm-bridge/hprof/commands.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "jvm-bridge/hprof/base/hprof.h"
#include "jvm-bridge/hprof/base/out.h"
#include "jvm-bridge/hprof/dump.h"
#include "jvm-bridge/hprof/tables/cpu_samples.h"
#include "jvm-bridge/hprof/tables/sites.h"

enum {
	COMMAND_GC = 1,
	COMMAND_DUMP_HEAP,
	COMMAND_ALLOC_SITES,
	COMMAND_HEAP_SUMMARY,
	COMMAND_EXIT,
	COMMAND_DUMP_TRACES,
	COMMAND_CPU_SAMPLES,
	COMMAND_CONTROL,
	COMMAND_EOF = 0xff
};

enum {
	CONTROL_ALLOC_ON = 1,
	CONTROL_ALLOC_OFF,
	CONTROL_CPU_ON,
	CONTROL_CPU_OFF,
	CONTROL_CLEAR_CPU,
	CONTROL_CLEAR_SITES,
	CONTROL_DEPTH
};

enum { HEAD = 9, BODY_MAX = 64 };

static uint64_t number(const unsigned char *at, size_t size)
{
	uint64_t v = 0;

	for (size_t i = 0; i < size; i++)
		v = v << 8 | at[i];
	return v;
}

static double ratio(const unsigned char *at)
{
	uint32_t bits = (uint32_t)number(at, 4);
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f >= 0 && f <= 1 ? (double)f : 0;
}

static void depth_set(unsigned depth)
{
	if (depth <= DEPTH_MAX)
		hprof.options.depth = depth;
	else
		hprof_error("command to set the depth to %u ignored: the maximum is %d", depth, DEPTH_MAX);
}

/* CPU_ON and CPU_OFF: the thread's object may be omitted; 0: all threads. */
static void control(const unsigned char *body, size_t n)
{
	unsigned code = n >= 2 ? (unsigned)number(body, 2) : 0;
	uint64_t thread = n >= 10 ? number(body + 2, 8) : 0;

	data_lock();
	switch (code) {
	case CONTROL_ALLOC_ON:
	case CONTROL_ALLOC_OFF: hprof.allocs_paused = code == CONTROL_ALLOC_OFF; break;
	case CONTROL_CPU_ON:
	case CONTROL_CPU_OFF: cpu_samples_switch(thread, code == CONTROL_CPU_ON); break;
	case CONTROL_CLEAR_CPU: dump_cpu_clear(); break;
	case CONTROL_CLEAR_SITES: sites_clear(); break;
	case CONTROL_DEPTH: depth_set(n >= 4 ? (unsigned)number(body + 2, 2) : DEPTH_MAX + 1); break;
	default: hprof_error("unknown CONTROL code %u ignored", code);
	}
	data_unlock();
}

/* false: stop reading. */
static bool command(unsigned type, const unsigned char *body, size_t n)
{
	unsigned flags = n >= 2 ? (unsigned)number(body, 2) : 0;
	double cutoff = n >= 6 ? ratio(body + 2) : 0;

	switch (type) {
	case COMMAND_GC: hprof.jvmpi->RunGC(); break;
	case COMMAND_DUMP_HEAP: dump_heap(); break;
	case COMMAND_ALLOC_SITES: dump_sites(flags, cutoff); break;
	case COMMAND_HEAP_SUMMARY: dump_summary(); break;
	case COMMAND_EXIT: hprof.jvmpi->ProfilerExit(0); break;
	case COMMAND_DUMP_TRACES: dump_traces(); break;
	case COMMAND_CPU_SAMPLES: dump_cpu(cutoff); break;
	case COMMAND_CONTROL: control(body, n); break;
	case COMMAND_EOF: return false;
	default: hprof_error("unknown command %u: no further commands will be read", type); return false;
	}
	return true;
}

static void loop(void *arg)
{
	unsigned char head[HEAD], body[BODY_MAX];
	bool more = true;

	(void)arg;
	while (more && !out_read(head, sizeof(head))) {
		size_t n = number(head + 5, 4);

		if (n > sizeof(body)) {
			hprof_error("command %u is too long (%zu bytes): no further commands will be read", head[0], n);
			return;
		}
		more = !out_read(body, n) && command(head[0], body, n);
	}
}

int commands_start(void)
{
	static char name[] = "HPROF listener";

	return hprof.jvmpi->CreateSystemThread(name, JVMPI_NORMAL_PRIORITY, loop) ? -EAGAIN : 0;
}
