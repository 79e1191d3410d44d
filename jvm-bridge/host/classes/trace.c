#include <stdlib.h>
#include <string.h>

#include "jvm-bridge/host/classes/lines.h"
#include "jvm-bridge/host/classes/trace.h"
#include "jvm-bridge/host/thread.h"

/*
 * The same (method, bci) is looked up again and again. The lock is only ever tried, never waited for. JVMTI does not
 * report redefinition, which changes a method's lines: an entry is valid for FRESH_NS.
 */
enum { CACHE = 1024, FRESH_NS = 500000000 };

static struct {
	struct lock lock;
	struct {
		jmethodID method;
		jlong bci;
		jint line;
		uint64_t since; /* ns of CLOCK_MONOTONIC_COARSE */
	} at[CACHE];
} cache;

static jint line_of(jmethodID method, jlong bci, uint64_t now)
{
	uint64_t h = ((uint64_t)(uintptr_t)method ^ (uint64_t)bci << 48) * 0x9e3779b97f4a7c15u;
	unsigned i = (unsigned)(h >> 54) % CACHE;
	struct lines lines;
	jint line = 0;

	if (bci < 0)
		return -3; /* GetStackTrace gives -1 for native methods */
	if (lock_try(&cache.lock)) {
		if (cache.at[i].method == method && cache.at[i].bci == bci && now - cache.at[i].since < FRESH_NS)
			line = cache.at[i].line;
		lock_drop(&cache.lock);
	}
	if (line)
		return line;
	lines_get(method, &lines);
	line = lines_find(&lines, bci);
	lines_done(&lines);
	if (lock_try(&cache.lock)) {
		cache.at[i].method = method;
		cache.at[i].bci = bci;
		cache.at[i].line = line;
		cache.at[i].since = now;
		lock_drop(&cache.lock);
	}
	return line;
}

void trace_forget(void)
{
	lock_take(&cache.lock);
	for (unsigned i = 0; i < CACHE; i++)
		cache.at[i].method = NULL;
	lock_drop(&cache.lock);
}

/* The agent's frames first serve as JVMTI's buffer: both have 16 bytes per frame, so nothing is allocated. */
_Static_assert(sizeof(jvmtiFrameInfo) == sizeof(JVMPI_CallFrame), "converted in place");

static void frame_convert(void *at, uint64_t now)
{
	jvmtiFrameInfo in;
	JVMPI_CallFrame out = {0};

	memcpy(&in, at, sizeof(in));
	out.method_id = in.method;
	out.lineno = line_of(in.method, in.location, now);
	memcpy(at, &out, sizeof(out));
}

static bool is_constructor_of(JNIEnv *env, jobject object, jmethodID method)
{
	jvmtiEnv *ti = the_bridge.ti;
	jclass klass = NULL;
	char *name = NULL;
	bool is = !(*ti)->GetMethodName(ti, method, &name, NULL, NULL) && !strcmp(name, "<init>") &&
		  !(*ti)->GetMethodDeclaringClass(ti, method, &klass) && (*env)->IsInstanceOf(env, object, klass);

	bridge_free(name);
	(*env)->DeleteLocalRef(env, klass);
	return is;
}

/* How many frames are not the program's doing: an inserted call, and an object's constructors, since OBJECT_ALLOC shows who made it. */
static jint frames_of_bridge(struct thread *t, JNIEnv *env)
{
	enum { CONSTRUCTORS = 64 };
	jvmtiFrameInfo at[CONSTRUCTORS];
	jint n = 0, i = 1;

	if (!t || !atomic_load(&the_bridge.n_calls) ||
	    (*the_bridge.ti)->GetStackTrace(the_bridge.ti, NULL, 0, t->made ? CONSTRUCTORS : 1, at, &n))
		return 0;
	/* In a handler other code may be running: what the agent calls, or loads a class. */
	if (!n || !bridge_is_call(at[0].method))
		return 0;
	while (t->made && i < n && is_constructor_of(env, t->made, at[i].method))
		i++;
	return i;
}

/*
 * GetCallTrace. For another thread it is the trace at the thread's next safepoint, unless it is suspended; for the
 * calling thread it is exact. Without a Java frame, or for an unknown thread: no frames.
 */
void trace_get(JVMPI_CallTrace *trace, jint depth)
{
	JNIEnv *env = bridge_env();
	struct thread *t = thread_find(trace->env_id);
	uint64_t now = clock_ns(CLOCK_MONOTONIC_COARSE);
	jobject object = NULL, carried = NULL;
	jint n = 0, from = 0;

	trace->num_frames = 0;
	if (!env || depth <= 0)
		return;
	if (trace->env_id != env) {
		object = t && !t->system ? thread_object(t, env) : NULL;
		if (!object)
			return;
		carried = thread_mounted(t, env, object);
	} else {
		from = frames_of_bridge(t, env);
	}
	if ((*the_bridge.ti)
		    ->GetStackTrace(the_bridge.ti, carried ? carried : object, from, depth,
				    (jvmtiFrameInfo *)trace->frames, &n))
		n = 0;
	for (jint i = 0; i < n; i++)
		frame_convert(&trace->frames[i], now);
	trace->num_frames = n;
	if (carried)
		(*env)->DeleteLocalRef(env, carried);
	if (object)
		(*env)->DeleteLocalRef(env, object);
}

void trace_lines(JVMPI_CallFrame *frames, jint n)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC_COARSE);

	for (jint i = 0; i < n; i++)
		frames[i].lineno = line_of(frames[i].method_id, frames[i].lineno, now);
}

struct gathering {
	struct traces *traces;
	jint max, depth;
};

static void count_one(struct thread *t, void *arg)
{
	(void)t;
	++*(jint *)arg;
}

static void gather_one(struct thread *t, void *arg)
{
	struct gathering *g = arg;
	struct traces *all = g->traces;
	JVMPI_CallTrace *trace = &all->at[all->n];

	if (t->system || all->n == g->max)
		return;
	*trace = (JVMPI_CallTrace){t->env, 0, all->frames + (size_t)all->n * (size_t)g->depth};
	trace_get(trace, g->depth);
	all->status[all->n++] = thread_status(t->env);
}

void traces_get(struct traces *ret, jint depth)
{
	struct gathering g = {ret, 0, depth};

	*ret = (struct traces){0};
	thread_each(count_one, &g.max);
	ret->at = calloc((size_t)g.max + 1, sizeof(*ret->at));
	ret->status = calloc((size_t)g.max + 1, sizeof(*ret->status));
	ret->frames = calloc((size_t)g.max + 1, (size_t)depth * sizeof(*ret->frames));
	if (ret->at && ret->status && ret->frames)
		thread_each(gather_one, &g);
}

void traces_done(struct traces *t)
{
	free(t->at);
	free(t->status);
	free(t->frames);
	*t = (struct traces){0};
}
