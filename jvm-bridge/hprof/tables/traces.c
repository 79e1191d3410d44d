#include "jvm-bridge/hprof/tables/traces.h"

#include <string.h>

#include "jvm-bridge/hprof/base/hprof.h"
#include "jvm-bridge/hprof/tables/threads.h"

static struct {
	struct map all;
	size_t bytes; /* of all */
	uint32_t last;
	uint64_t lost;
} traces = {.last = TRACE_NONE};

static uint64_t hash_of(uint32_t thread, const struct frame *frames, uint32_t n)
{
	uint64_t hash = map_mix(n, thread);

	for (uint32_t i = 0; i < n; i++) {
		hash = map_mix(hash, (uint64_t)(uintptr_t)frames[i].method);
		hash = map_mix(hash, (uint64_t)(uint32_t)frames[i].line);
	}
	return hash;
}

/* Not memcmp(): frames have padding. */
static bool is_same(const struct trace *t, uint32_t thread, const struct frame *frames, uint32_t n)
{
	if (t->thread != thread || t->n != n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (t->frames[i].method != frames[i].method || t->frames[i].line != frames[i].line)
			return false;
	return true;
}

static struct trace *trace_new(uint32_t thread, const struct frame *frames, uint32_t n, uint64_t hash)
{
	size_t size = sizeof(struct trace) + n * sizeof(*frames);
	bool room = traces.bytes + classes_gone_bytes() + size <= TRACES_BYTES;
	struct trace *t = room ? calloc(1, size) : NULL;

	if (!t || !map_add(&traces.all, &t->link, hash)) {
		free(t);
		traces.lost++;
		return NULL;
	}
	traces.bytes += size;
	t->serial = ++traces.last;
	t->thread = thread;
	t->n = n;
	for (uint32_t i = 0; i < n; i++) {
		t->frames[i] = frames[i];
		class_keep(frames[i].method ? frames[i].method->class : NULL);
	}
	return t;
}

struct trace *trace_of(uint32_t thread, const struct frame *frames, uint32_t n)
{
	struct link *l;
	uint64_t hash;

	thread = hprof.options.thread ? thread : 0;
	n = n < hprof.options.depth ? n : hprof.options.depth;
	hash = hash_of(thread, frames, n);
	l = map_first(&traces.all, hash);
	while (l && !is_same((struct trace *)l, thread, frames, n))
		l = map_next(l);
	return l ? (struct trace *)l : trace_new(thread, frames, n, hash);
}

struct trace *trace_of_call(const JVMPI_CallTrace *call)
{
	static struct frame frames[DEPTH_MAX]; /* guarded by hprof.data */
	uint32_t n = 0;

	for (jint i = 0; i < call->num_frames && n < DEPTH_MAX; i++) {
		jint line = call->frames[i].lineno;

		frames[n].method = method_of(call->frames[i].method_id);
		frames[n++].line = hprof.options.lineno || line < -1 ? line : -1;
	}
	return trace_of(thread_serial(call->env_id), frames, n);
}

struct trace *trace_here(JNIEnv *env)
{
	static JVMPI_CallFrame frames[DEPTH_MAX]; /* guarded by hprof.data */
	JVMPI_CallTrace call = {.env_id = env, .frames = frames};

	hprof.jvmpi->GetCallTrace(&call, (jint)hprof.options.depth);
	return trace_of_call(&call);
}

void traces_each(void (*f)(struct trace *t, void *arg), void *arg)
{
	for (size_t i = 0; i < traces.all.cap; i++)
		for (struct link *l = traces.all.heads[i]; l; l = l->next)
			f((struct trace *)l, arg);
}

uint64_t traces_lost(void)
{
	return traces.lost;
}
