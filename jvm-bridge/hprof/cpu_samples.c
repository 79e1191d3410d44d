#include "jvm-bridge/hprof/cpu_samples.h"

#include <errno.h>
#include <stdlib.h>

#include "jvm-bridge/hprof/hprof.h"
#include "jvm-bridge/hprof/threads.h"
#include "jvm-bridge/hprof/traces.h"

static struct {
	JavaVM *vm;
	JVMPI_RawMonitor pause; /* nobody notifies it: RawMonitorWait is the clock */
	JNIEnv *self;
	JNIEnv **threads;
	jint *results;
	JVMPI_CallTrace *traces;
	JVMPI_CallFrame *frames;
	size_t cap_threads, cap; /* of threads; of the other three */
} s;

/* Everything that a tick needs while threads are stopped is there before. */
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

/* A thread's frames are fetched when it has used the CPU since it was last resumed, however it was found. */
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

/* With hprof.data, so that no thread is stopped that holds it. */
static void tick(void)
{
	size_t n = runnable_keep(threads_list(&s.threads, &s.cap_threads, s.self));

	if (!n || !room_make(n))
		return;
	n = traces_take(n);
	for (size_t i = 0; i < n; i++) {
		struct trace *t;

		/* Threads of the JVM that run no Java code have no frames. With depth=0 nobody has. */
		if (!s.traces[i].num_frames && hprof.options.depth)
			continue;
		t = trace_of_call(&s.traces[i]);
		if (t)
			t->cost.count++;
	}
}

static void wait_interval(void)
{
	hprof.jvmpi->RawMonitorEnter(s.pause);
	hprof.jvmpi->RawMonitorWait(s.pause, (jlong)hprof.options.interval);
	hprof.jvmpi->RawMonitorExit(s.pause);
}

static void loop(void *arg)
{
	bool ended = false;
	void *env = NULL;

	(void)arg;
	(*s.vm)->GetEnv(s.vm, &env, JNI_VERSION_1_2);
	s.self = env;
	while (!ended) {
		wait_interval();
		data_lock();
		ended = hprof.ended;
		if (!ended)
			tick();
		data_unlock();
	}
}

int cpu_samples_start(JavaVM *vm)
{
	static char name[] = "HPROF CPU profiler", pause[] = "_hprof pause";

	s.vm = vm;
	s.pause = hprof.jvmpi->RawMonitorCreate(pause);
	if (!s.pause || hprof.jvmpi->CreateSystemThread(name, JVMPI_MAXIMUM_PRIORITY, loop))
		return -EAGAIN;
	return 0;
}
