#include "jvm-bridge/hprof/tables/cpu_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "jvm-bridge/hprof/base/hprof.h"
#include "jvm-bridge/hprof/tables/threads.h"
#include "jvm-bridge/hprof/tables/traces.h"

enum { NS_IN_MS = 1000000, NS_IN_S = 1000000000 };

static struct {
	JVMPI_RawMonitor pause; /* never notified: RawMonitorWait is used as a timer */
	JNIEnv *self;
	JNIEnv **threads;
	jint *results;
	JVMPI_CallTrace *traces;
	JVMPI_CallFrame *frames;
	size_t cap_threads, cap; /* capacity of threads; of the other three arrays */
	bool off; /* by a command */
	uint64_t period, cost; /* ns; adaptive=y: smoothed cost of a tick */
} s;

/* Allocates everything that a tick needs while threads are suspended. */
static bool room_make(size_t n)
{
	size_t cap = n * 2, depth = hprof.options.depth;
	JVMPI_CallTrace *traces;
	JVMPI_CallFrame *frames;
	jint *results;

	if (n <= s.cap)
		return true;
	results = realloc(s.results, cap * sizeof(*results));
	if (results)
		s.results = results;
	traces = realloc(s.traces, cap * sizeof(*traces));
	if (traces)
		s.traces = traces;
	frames = realloc(s.frames, (cap * depth + 1) * sizeof(*frames));
	if (frames)
		s.frames = frames;
	if (!results || !traces || !frames)
		return false;
	s.cap = cap;
	return true;
}

/* Takes the frames of threads that have used the CPU since they were last resumed, by whatever method. */
static size_t traces_take(size_t n)
{
	JVMPI_Interface *jvmpi = hprof.jvmpi;
	size_t taken = 0;

	jvmpi->DisableGC();
	jvmpi->SuspendThreadList((jint)n, s.threads, s.results);
	for (size_t i = 0; i < n; i++) {
		JVMPI_CallTrace *t = &s.traces[taken];

		if (s.results[i] || !jvmpi->ThreadHasRun(s.threads[i]))
			continue;
		t->env_id = s.threads[i];
		t->frames = s.frames + taken * hprof.options.depth;
		jvmpi->GetCallTrace(t, (jint)hprof.options.depth);
		taken++;
	}
	jvmpi->ResumeThreadList((jint)n, s.threads, s.results);
	jvmpi->EnableGC();
	return taken;
}

static size_t runnable_keep(size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if ((hprof.jvmpi->GetThreadStatus(s.threads[i]) & ~JVMPI_THREAD_INTERRUPTED) == JVMPI_THREAD_RUNNABLE)
			s.threads[kept++] = s.threads[i];
	return kept;
}

/* With hprof.data, so that no thread is suspended while holding it. */
static void tick(void)
{
	size_t n = s.off ? 0 : runnable_keep(threads_list(&s.threads, &s.cap_threads, s.self));

	if (!n || !room_make(n))
		return;
	n = traces_take(n);
	for (size_t i = 0; i < n; i++) {
		struct trace *t;

		/* JVM threads without Java code have no frames. With depth=0, no thread has. */
		if (!s.traces[i].num_frames && hprof.options.depth)
			continue;
		t = trace_of_call(&s.traces[i]);
		if (t)
			t->cost.count++;
	}
}

static uint64_t now(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_IN_S + (uint64_t)t.tv_nsec;
}

/* As in the first JVMPI: if the cost of a tick exceeds two periods or is below one, it becomes the new period. */
static void period_adapt(uint64_t cost)
{
	uint64_t least = hprof.options.interval * (uint64_t)NS_IN_MS;

	s.cost = (s.cost * 9 + cost) / 10;
	if (s.cost > 2 * s.period || s.cost < s.period)
		s.period = s.cost > least ? s.cost : least;
}

static void wait_period(void)
{
	hprof.jvmpi->RawMonitorEnter(s.pause);
	hprof.jvmpi->RawMonitorWait(s.pause, (jlong)((s.period + NS_IN_MS - 1) / NS_IN_MS));
	hprof.jvmpi->RawMonitorExit(s.pause);
}

static void loop(void *arg)
{
	bool ended = false;
	void *env = NULL;

	(void)arg;
	(*hprof.vm)->GetEnv(hprof.vm, &env, JNI_VERSION_1_2);
	s.self = env;
	s.period = hprof.options.interval * (uint64_t)NS_IN_MS;
	while (!ended) {
		uint64_t begin;

		wait_period();
		begin = now();
		data_lock();
		ended = hprof.ended;
		if (!ended)
			tick();
		data_unlock();
		if (hprof.options.adaptive)
			period_adapt(now() - begin);
	}
}

struct switching {
	uint64_t thread;
	bool off;
};

static void thread_switch(struct java_thread *t, void *arg)
{
	const struct switching *w = arg;

	if (w->thread == (t->address ? t->address : (uint64_t)(uintptr_t)t->object))
		t->not_sampled = w->off;
}

void cpu_samples_switch(uint64_t thread, bool on)
{
	struct switching w = {thread, !on};

	if (thread)
		threads_each(thread_switch, &w);
	else
		s.off = !on;
}

int cpu_samples_start(void)
{
	static char name[] = "HPROF CPU profiler", pause[] = "_hprof pause";

	s.pause = hprof.jvmpi->RawMonitorCreate(pause);
	if (!s.pause || hprof.jvmpi->CreateSystemThread(name, JVMPI_MAXIMUM_PRIORITY, loop))
		return -EAGAIN;
	return 0;
}
