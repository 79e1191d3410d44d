#include "jvm-bridge/hprof/format/text_monitors.h"

#include <string.h>

#include "jvm-bridge/hprof/base/hprof.h"
#include "jvm-bridge/hprof/base/out.h"
#include "jvm-bridge/hprof/format/text.h"
#include "jvm-bridge/hprof/tables/threads.h"

enum { NS_IN_MS = 1000000 };

static void row(size_t rank, const struct contention *c, uint64_t sum, uint64_t total)
{
	char name[NAME_MAX_];

	out_print("%4zu %5.2f%% %5.2f%% %7llu %5u ", rank, text_percent(c->ns, total), text_percent(sum, total),
		  (unsigned long long)c->count, c->trace->serial);
	if (c->raw)
		out_print("\"%.2000s\" (Raw)\n", c->raw);
	else
		out_print("%s (Java)\n", kind_source_name(c->kind, name));
}

void text_monitor_time(const struct contention_table *t)
{
	char now[TEXT_TIME];
	uint64_t sum = 0;

	for (size_t i = 0; i < t->n; i++)
		text_trace(t->rows[i]->trace);
	out_print("MONITOR TIME BEGIN (total = %llu ms) %s", (unsigned long long)(t->total / NS_IN_MS), text_time(now));
	if (t->n)
		out_print("rank   self  accum   count trace monitor\n");
	for (size_t i = 0; i < t->n; i++) {
		sum += t->rows[i]->ns;
		row(i + 1, t->rows[i], sum, t->total);
	}
	out_print("MONITOR TIME END\n");
	out_whole();
}

void text_wait(struct kind monitor, bool waited, long long ms, uint32_t thread)
{
	char name[NAME_MAX_];

	out_print("%s: MONITOR %s, ", waited ? "WAITED" : "WAIT", kind_signature(monitor, name));
	out_print("%s=%lld, thread %u\n", waited ? "time_waited" : "timeout", ms, thread);
	out_whole();
}

void text_sleep(long long ms, uint32_t thread)
{
	out_print("SLEEP: timeout=%lld, thread %u\n", ms, thread);
	out_whole();
}

/* The unread part of the event's data. */
struct rest {
	const char *at, *end;
	bool failed;
};

static void take(struct rest *r, void *to, size_t n)
{
	memset(to, 0, n);
	r->failed |= (size_t)(r->end - r->at) < n;
	if (r->failed)
		return;
	memcpy(to, r->at, n);
	r->at += n;
}

static uint32_t take_u4(struct rest *r)
{
	unsigned char b[4];

	take(r, b, sizeof(b));
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void threads_print(struct rest *r, const char *what)
{
	uint32_t n = take_u4(r);

	if (n)
		out_print("\t%s:", what);
	for (uint32_t i = 0; i < n && !r->failed; i++) {
		JNIEnv *env;

		take(r, &env, sizeof(env));
		out_print("%s thread %u", i ? "," : "", thread_serial(env));
	}
	if (n)
		out_print("\n");
}

static void raw_monitor_head(const char *name, jobjectID id)
{
	out_print("    RAW MONITOR \"%.2000s\"(0x%llx)", name ? name : "", (unsigned long long)(uintptr_t)id);
}

static void monitor_print(struct rest *r, struct kind (*kind_of)(jobjectID id))
{
	char signature[NAME_MAX_], *name = NULL;
	unsigned char kind;
	jobjectID id = NULL;
	JNIEnv *owner;
	uint32_t entries;

	take(r, &kind, 1);
	if (kind == JVMPI_MONITOR_RAW)
		take(r, &name, sizeof(name));
	take(r, &id, sizeof(id)); /* or the JVMPI_RawMonitor */
	take(r, &owner, sizeof(owner));
	entries = take_u4(r);
	if (r->failed)
		return;
	if (kind == JVMPI_MONITOR_RAW)
		raw_monitor_head(name, id);
	else
		out_print("    MONITOR %s", kind_signature(kind_of(id), signature));
	if (owner)
		out_print("\n\towner: thread %u, entry count: %u\n", thread_serial(owner), entries);
	else
		out_print(" unowned\n");
	threads_print(r, "waiting to enter");
	threads_print(r, "waiting to be notified");
}

static const char *state_name(jint status)
{
	switch (status & ~(JVMPI_THREAD_SUSPENDED | JVMPI_THREAD_INTERRUPTED)) {
	case JVMPI_THREAD_RUNNABLE: return "R";
	case JVMPI_THREAD_MONITOR_WAIT: return "MW";
	case JVMPI_THREAD_CONDVAR_WAIT: return "CW";
	default: return "UN";
	}
}

static void states_print(const JVMPI_Event *e)
{
	for (jint i = 0; e->u.monitor_dump.threads_status && i < e->u.monitor_dump.num_traces; i++) {
		struct java_thread *t = thread_of(e->u.monitor_dump.traces[i].env_id);
		jint status = e->u.monitor_dump.threads_status[i];

		if (!t)
			continue;
		out_print("    THREAD %u, trace %u, status: %s%s%s\n", t->serial,
			  t->stack ? t->stack->serial : TRACE_NONE, status & JVMPI_THREAD_SUSPENDED ? "S|" : "",
			  status & JVMPI_THREAD_INTERRUPTED ? "intr|" : "", state_name(status));
	}
}

static void stack_print(struct java_thread *t, void *arg)
{
	(void)arg;
	if (t->stack)
		text_trace(t->stack);
}

void text_monitor_dump(const JVMPI_Event *e, struct kind (*kind_of)(jobjectID id))
{
	struct rest r = {e->u.monitor_dump.begin, e->u.monitor_dump.end, false};

	threads_each(stack_print, NULL);
	out_print("MONITOR DUMP BEGIN\n");
	states_print(e);
	while (r.at < r.end && !r.failed)
		monitor_print(&r, kind_of);
	out_print("MONITOR DUMP END\n");
	out_whole();
}
