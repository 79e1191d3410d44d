#include "jvm-bridge/hprof/format/text.h"

#include <string.h>
#include <time.h>

#include "jvm-bridge/hprof/base/hprof.h"
#include "jvm-bridge/hprof/base/out.h"

/* Readers skip to the line of dashes at its end. */
static const char prelude[] =
	"Header for jsampler's HPROF: a profile of a Java program as text.\n"
	"\n"
	"THREAD START, THREAD END   a thread began or ended; other records refer to its id.\n"
	"TRACE                      a stack, innermost frame first: class.method(source:line). Tables refer to its\n"
	"                           number. depth= limits the number of frames; thread=y adds the thread.\n"
	"CPU SAMPLES                how often each stack was found running. self: its share of all samples; accum:\n"
	"                           the sum of self so far; count: samples.\n"
	"CPU TIME (ms)              the CPU time of each stack's innermost method itself; count: calls. total and\n"
	"                           self exclude the methods that it called, which have stacks of their own.\n"
	"SITES                      what was allocated where. live: bytes and objects not known to be freed;\n"
	"                           alloc'ed: everything that was allocated.\n"
	"HEAP DUMP                  the contents of the heap: ROOT, CLS (class), OBJ (object), ARR (array), with the\n"
	"                           references that they hold, by field name or index; sz: bytes.\n"
	"MONITOR TIME               how long threads waited to enter monitors that other threads owned, in ms, by\n"
	"                           the monitor's class and the stack.\n"
	"MONITOR DUMP               threads and their states (R: running, MW: entering a monitor, CW: waiting), and\n"
	"                           monitors.\n"
	"WAIT, WAITED, SLEEP        Object.wait() begins and ends, Thread.sleep() begins; times in ms.\n"
	"\n"
	"Rows below cutoff= are omitted. Counts start again after each dump.\n";

char *text_time(char buffer[TEXT_TIME])
{
	time_t now = time(NULL);

	if (!ctime_r(&now, buffer))
		strcpy(buffer, "?\n");
	return buffer;
}

static bool is_old(void)
{
	return hprof.options.cpu == CPU_OLD; /* only a table */
}

void text_header(void)
{
	char now[TEXT_TIME];

	if (is_old())
		return;
	out_print("JAVA PROFILE 1.0.1, created %s\n", text_time(now));
	out_put(prelude, sizeof(prelude) - 1);
	out_print("\n--------\n\n");
	/* The trace for objects older than the agent. */
	if (hprof.options.heap)
		out_print("TRACE %u:\n\t<empty>\n", TRACE_NONE);
	out_whole();
}

void text_thread_start(const struct java_thread *t)
{
	if (is_old())
		return;
	out_print("THREAD START (obj=%llx, id = %u, name=\"%.2000s\", group=\"%.2000s\")\n",
		  (unsigned long long)(uintptr_t)t->object, t->serial, t->name, t->group);
	out_whole();
}

void text_thread_end(uint32_t serial)
{
	if (is_old())
		return;
	out_print("THREAD END (id = %u)\n", serial);
	out_whole();
}

static const char *class_name(const struct frame *f)
{
	return f->method ? f->method->class->name : "<Unknown>";
}

static const char *method_name(const struct frame *f)
{
	return f->method ? f->method->name : "<Unknown Method>";
}

static void text_frame(const struct frame *f)
{
	const char *source = f->method && f->method->class->source ? f->method->class->source : "<Unknown Source>";

	out_print("\t%.3000s.%.2000s(%.2000s:", class_name(f), method_name(f), source);
	if (f->line > 0)
		out_print("%d)\n", (int)f->line);
	else
		out_print("%s)\n", f->line == -3 ? "Native method" :
				   f->line == -2 ? "Compiled method" :
						   "Unknown line");
}

void text_trace(struct trace *t)
{
	if (t->written)
		return;
	t->written = hprof.file;
	out_print("TRACE %u:", t->serial);
	if (hprof.options.thread)
		out_print(" (thread=%u)", t->thread);
	out_print("\n");
	for (uint32_t i = 0; i < t->n; i++)
		text_frame(&t->frames[i]);
	if (!t->n)
		out_print("\t<empty>\n");
	out_whole();
}

static void trace_print(struct trace *t, void *arg)
{
	(void)arg;
	text_trace(t);
}

void text_traces(void)
{
	traces_each(trace_print, NULL);
}

double text_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void text_row(size_t rank, const struct row *r, uint64_t sum, uint64_t total)
{
	const struct frame *top = r->trace->frames;

	out_print("%4zu %5.2f%% %5.2f%% %7llu %5u ", rank, text_percent(r->cost, total), text_percent(sum, total),
		  (unsigned long long)r->count, r->trace->serial);
	if (r->trace->n)
		out_print("%.3000s.%.2000s\n", class_name(top), method_name(top));
	else
		out_print("<empty trace>\n");
}

void text_cpu(const char *name, const struct table *table, uint64_t unit)
{
	uint64_t sum = 0;
	char now[TEXT_TIME];

	for (size_t i = 0; i < table->n; i++)
		text_trace(table->rows[i].trace);
	out_print("%s BEGIN (total = %llu) %s", name, (unsigned long long)(table->total / unit), text_time(now));
	if (table->n)
		out_print("rank   self  accum   count trace method\n");
	for (size_t i = 0; i < table->n; i++) {
		sum += table->rows[i].cost;
		text_row(i + 1, &table->rows[i], sum, table->total);
	}
	out_print("%s END\n", name);
	out_whole();
}

static void text_method(const struct trace *t, uint32_t i, const char *none)
{
	const struct frame *f = &t->frames[i];

	if (i < t->n && f->method)
		out_print("%.3000s.%.2000s%.2000s ", class_name(f), method_name(f), f->method->signature);
	else
		out_print("%s ", none);
}

void text_calls(const struct table *table)
{
	out_print("count callee caller time\n");
	for (size_t i = 0; i < table->n; i++) {
		const struct trace *t = table->rows[i].trace;

		out_print("%llu ", (unsigned long long)t->cost.count);
		text_method(t, 0, "<unknown callee>");
		text_method(t, 1, "<unknown caller>");
		out_print("%llu\n", (unsigned long long)(t->cost.total / 1000000));
	}
	out_whole();
}
