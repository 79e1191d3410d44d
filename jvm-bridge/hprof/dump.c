#include "jvm-bridge/hprof/dump.h"

#include <errno.h>
#include <stdio.h>

#include "jvm-bridge/hprof/base/hprof.h"
#include "jvm-bridge/hprof/base/out.h"
#include "jvm-bridge/hprof/format/binary.h"
#include "jvm-bridge/hprof/format/text.h"
#include "jvm-bridge/hprof/format/text_monitors.h"
#include "jvm-bridge/hprof/heap_events.h"
#include "jvm-bridge/hprof/monitor_events.h"
#include "jvm-bridge/hprof/tables/monitors.h"
#include "jvm-bridge/hprof/vm_dump.h"

enum { NS_IN_MS = 1000000 };
/* Flags of ALLOC SITES. */
enum { SITES_BY_ALLOCATED = 2, SITES_GC = 4 };

static JVMPI_RawMonitor turn; /* taken before hprof.data */

int dump_init(void)
{
	static char name[] = "_hprof dump";

	turn = hprof.jvmpi->RawMonitorCreate(name);
	return turn ? 0 : -ENOMEM;
}

static uint64_t samples_of(const struct trace *t)
{
	return t->cost.count;
}

static uint64_t self_of(const struct trace *t)
{
	return t->cost.self;
}

static void say(const char *what)
{
	if (hprof.options.verbose)
		fprintf(stderr, "%s", what);
}

static void memory_check(bool ok, const char *what)
{
	if (!ok)
		hprof_error("out of memory: %s is incomplete", what);
}

static void cost_clear(struct trace *t, void *arg)
{
	(void)arg;
	t->cost = (struct cost){0};
}

void dump_cpu_clear(void)
{
	traces_each(cost_clear, NULL);
}

/* cpu=old has all rows, by the number of calls. */
static void cpu_write(double cutoff)
{
	unsigned cpu = hprof.options.cpu;
	struct table table = table_make(cpu == CPU_TIMES ? self_of : samples_of, cpu == CPU_OLD ? 0 : cutoff);

	memory_check(table.ok, "the table of CPU usage");
	if (is_binary())
		binary_cpu_samples(&table);
	else if (cpu == CPU_SAMPLES)
		text_cpu("CPU SAMPLES", &table, 1);
	else if (cpu == CPU_TIMES)
		text_cpu("CPU TIME (ms)", &table, NS_IN_MS);
	else
		text_calls(&table);
	table_done(&table);
}

static void cpu_all(void)
{
	static const char *const doing[] = {
		[CPU_SAMPLES] = " CPU usage by sampling running threads ...",
		[CPU_TIMES] = " CPU usage by timing methods ...",
		[CPU_OLD] = " CPU usage in old prof format ...",
	};

	if (!hprof.options.cpu)
		return;
	say(doing[hprof.options.cpu]);
	cpu_write(hprof.options.cutoff);
	dump_cpu_clear();
}

static void sites_write(unsigned flags, double cutoff)
{
	struct site_table table = site_table_make(cutoff, flags & SITES_BY_ALLOCATED);

	memory_check(table.ok, "the table of allocation sites");
	if (is_binary())
		binary_sites(&table, flags, cutoff);
	else
		text_sites(&table);
	site_table_done(&table);
}

static void monitors_write(void)
{
	struct contention_table table = contention_table_make(hprof.options.cutoff);

	memory_check(table.ok, "the table of monitors");
	text_monitor_time(&table);
	contention_table_done(&table);
	contention_clear();
}

static void losses_say(void)
{
	static uint64_t traces, objects;

	if (traces_lost() > traces)
		hprof_error("%llu events were not counted: there is no room for more traces (limit: %zu MB)",
			    (unsigned long long)(traces_lost() - traces), TRACES_BYTES >> 20);
	if (sites_lost() > objects)
		hprof_error("out of memory: %llu objects were not counted",
			    (unsigned long long)(sites_lost() - objects));
	traces = traces_lost();
	objects = sites_lost();
}

/* Without hprof.data. */
static void heap_make(void)
{
	if (is_binary() && hprof.options.dumper == DUMPER_VM && !vm_dump_make(hprof.vm))
		hprof.options.dumper = DUMPER_JVMPI;
	if (!is_binary() || hprof.options.dumper == DUMPER_JVMPI) {
		heap_write();
		return;
	}
	data_lock();
	vm_dump_copy();
	data_unlock();
	vm_dump_remove();
}

static void write_all(void)
{
	unsigned heap = hprof.options.heap;

	say("Dumping");
	if (hprof.options.monitor) {
		say(" contended monitor usage ...");
		monitors_dump_write();
		data_lock();
		monitors_write();
		data_unlock();
	}
	if (heap & HEAP_DUMP) {
		say(" Java heap ...");
		heap_make();
	}
	data_lock();
	if (heap & HEAP_SITES) {
		say(" allocation sites ...");
		sites_write(0, hprof.options.cutoff);
	}
	cpu_all();
	out_flush();
	losses_say();
	data_unlock();
	say(" done.\n");
}

static void turn_take(void)
{
	hprof.jvmpi->RawMonitorEnter(turn);
}

static void turn_drop(void)
{
	hprof.jvmpi->RawMonitorExit(turn);
}

void dump_write(void)
{
	turn_take();
	if (!hprof.ended)
		write_all();
	turn_drop();
}

void dump_end(void)
{
	turn_take();
	if (!hprof.ended) {
		if (hprof.options.doe)
			write_all();
		data_lock();
		hprof.ended = true;
		out_close();
		data_unlock();
	}
	turn_drop();
}

/* Calls f with hprof.data, unless the JVM has ended. */
static void part(void (*f)(unsigned flags, double cutoff), unsigned flags, double cutoff)
{
	turn_take();
	data_lock();
	if (!hprof.ended) {
		f(flags, cutoff);
		out_flush();
	}
	data_unlock();
	turn_drop();
}

void dump_heap(void)
{
	turn_take();
	if (!hprof.ended && hprof.options.heap & HEAP_DUMP) {
		heap_make();
		data_lock();
		out_flush();
		data_unlock();
	}
	turn_drop();
}

void dump_sites(unsigned flags, double cutoff)
{
	if (!(hprof.options.heap & HEAP_SITES))
		return;
	if (flags & SITES_GC)
		hprof.jvmpi->RunGC();
	part(sites_write, flags & (SITES_BY_ALLOCATED | SITES_GC), cutoff);
}

static void summary_part(unsigned flags, double cutoff)
{
	(void)flags, (void)cutoff;
	if (is_binary())
		binary_heap_summary();
}

void dump_summary(void)
{
	part(summary_part, 0, 0);
}

static void cpu_part(unsigned flags, double cutoff)
{
	(void)flags;
	if (hprof.options.cpu)
		cpu_write(cutoff);
}

void dump_cpu(double cutoff)
{
	part(cpu_part, 0, cutoff);
}

static void trace_write(struct trace *t, void *arg)
{
	(void)arg;
	binary_trace(t);
}

static void traces_part(unsigned flags, double cutoff)
{
	(void)flags, (void)cutoff;
	if (is_binary())
		traces_each(trace_write, NULL);
	else
		text_traces();
}

void dump_traces(void)
{
	part(traces_part, 0, 0);
}
