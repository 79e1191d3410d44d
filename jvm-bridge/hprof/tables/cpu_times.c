#include "jvm-bridge/hprof/tables/cpu_times.h"

#include <stdlib.h>

#include "jvm-bridge/hprof/base/hprof.h"
#include "jvm-bridge/hprof/tables/threads.h"
#include "jvm-bridge/hprof/tables/traces.h"

struct call {
	jmethodID method;
	uint64_t start, callees; /* ns of the thread's CPU clock: when it began; time in its callees */
};

/* One per thread, in JVMPI's thread-local storage; only that thread uses it. */
struct calls {
	size_t n, cap;
	uint64_t beyond; /* nested calls not recorded for lack of memory */
	struct call at[];
};

static uint64_t now(void)
{
	return (uint64_t)hprof.jvmpi->GetCurrentThreadCpuTime();
}

/* With room for one more; NULL: out of memory, the old one stays. */
static struct calls *calls_of(JNIEnv *env)
{
	struct calls *c = hprof.jvmpi->GetThreadLocalStorage(env), *grown;
	size_t cap = c ? c->cap * 2 : 128;

	if (c && c->n < c->cap)
		return c;
	grown = realloc(c, sizeof(*c) + cap * sizeof(c->at[0]));
	if (!grown)
		return NULL;
	if (!c)
		*grown = (struct calls){0};
	grown->cap = cap;
	hprof.jvmpi->SetThreadLocalStorage(env, grown);
	return grown;
}

void cpu_times_entered(JNIEnv *env, jmethodID method)
{
	struct calls *c = calls_of(env);

	if (c && !c->beyond) {
		c->at[c->n++] = (struct call){.method = method, .start = now()};
		return;
	}
	c = hprof.jvmpi->GetThreadLocalStorage(env);
	if (c)
		c->beyond++;
}

/* The trace of the last call; lines are not known. */
static struct trace *trace_of_calls(JNIEnv *env, const struct calls *c)
{
	static struct frame frames[DEPTH_MAX]; /* guarded by hprof.data */
	unsigned depth = hprof.options.depth;
	uint32_t n = 0;

	for (size_t i = c->n; i && n < depth; i--)
		frames[n++] = (struct frame){method_of(c->at[i - 1].method), -1};
	return trace_of(thread_serial(env), frames, n);
}

/* Ends the last call. */
static void call_end(JNIEnv *env, struct calls *c, uint64_t at)
{
	const struct call *call = &c->at[c->n - 1];
	uint64_t total = at > call->start ? at - call->start : 0;
	uint64_t self = total > call->callees ? total - call->callees : 0;
	struct trace *t;

	data_lock();
	t = hprof.ended ? NULL : trace_of_calls(env, c);
	if (t) {
		t->cost.count++;
		t->cost.self += self;
		t->cost.total += total;
	}
	data_unlock();
	if (--c->n)
		c->at[c->n - 1].callees += total;
}

void cpu_times_left(JNIEnv *env, jmethodID method)
{
	struct calls *c = hprof.jvmpi->GetThreadLocalStorage(env);
	uint64_t at = now();
	size_t n;

	if (c && c->beyond) {
		c->beyond--;
		return;
	}
	for (n = c ? c->n : 0; n && c->at[n - 1].method != method; n--)
		;
	/* n is 0 if the method was entered before the agent came. Calls above it whose exit was missed end with it. */
	while (n && c->n >= n)
		call_end(env, c, at);
}

void cpu_times_thread_ended(JNIEnv *env)
{
	free(hprof.jvmpi->GetThreadLocalStorage(env));
	hprof.jvmpi->SetThreadLocalStorage(env, NULL);
}
