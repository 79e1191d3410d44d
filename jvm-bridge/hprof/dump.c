#include "jvm-bridge/hprof/dump.h"

#include <stdio.h>

#include "jvm-bridge/hprof/hprof.h"
#include "jvm-bridge/hprof/out.h"
#include "jvm-bridge/hprof/text.h"

enum { NS_IN_MS = 1000000 };

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

static void cost_clear(struct trace *t, void *arg)
{
	(void)arg;
	t->cost = (struct cost){0};
}

/* cpu=old has rows by the number of calls, all of them. */
static void cpu_write(void)
{
	unsigned cpu = hprof.options.cpu;
	struct table table = cpu == CPU_SAMPLES ? table_make(samples_of, hprof.options.cutoff) :
			     cpu == CPU_TIMES   ? table_make(self_of, hprof.options.cutoff) :
						  table_make(samples_of, 0);

	if (!table.ok)
		hprof_error("out of memory: the table of the CPU's use is not whole");
	if (cpu == CPU_SAMPLES)
		text_cpu("CPU SAMPLES", &table, 1);
	else if (cpu == CPU_TIMES)
		text_cpu("CPU TIME (ms)", &table, NS_IN_MS);
	else
		text_calls(&table);
	table_done(&table);
	traces_each(cost_clear, NULL);
}

static void write_all(void)
{
	static const char *const doing[] = {
		[CPU_SAMPLES] = " CPU usage by sampling running threads ...",
		[CPU_TIMES] = " CPU usage by timing methods ...",
		[CPU_OLD] = " CPU usage in old prof format ...",
	};
	static uint64_t lost;

	say("Dumping");
	if (hprof.options.cpu) {
		say(doing[hprof.options.cpu]);
		cpu_write();
	}
	out_flush();
	say(" done.\n");
	if (traces_lost() > lost)
		hprof_error("out of memory: %llu traces were not counted", (unsigned long long)(traces_lost() - lost));
	lost = traces_lost();
}

void dump_write(void)
{
	data_lock();
	if (!hprof.ended)
		write_all();
	data_unlock();
}

void dump_end(void)
{
	data_lock();
	if (!hprof.ended) {
		if (hprof.options.doe)
			write_all();
		hprof.ended = true;
		out_close();
	}
	data_unlock();
}
