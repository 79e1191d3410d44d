#ifndef JS_HPROF_TRACES_H
#define JS_HPROF_TRACES_H

#include "jvm-bridge/hprof/tables/classes.h"

enum {
	TRACE_NONE = 300000
}; /* serial number of the empty trace, for objects older than the agent; real ones are larger */

/* Classes and threads come and go, each with traces of its own: traces, and unloaded classes in them, take no more. */
#define TRACES_BYTES ((size_t)256 << 20)

struct frame {
	struct method *method; /* NULL: unknown */
	jint line; /* as in JVMPI: -1 unknown, -3 native method */
};

/* Counted for one trace since the last dump; times in ns. */
struct cost {
	uint64_t count, self, total;
};

struct trace {
	struct link link;
	uint32_t serial;
	uint32_t thread; /* its serial number; 0 without thread=y */
	uint32_t written; /* to the output file with this number; 0: to none */
	struct cost cost;
	uint32_t n;
	struct frame frames[]; /* [0] is the innermost */
};

/*
 * The trace of these frames in that thread, created if new; frames beyond `depth` are left out. NULL: no room for more,
 * counted in traces_lost(). Traces are never freed. All functions: with hprof.data.
 */
struct trace *trace_of(uint32_t thread, const struct frame *frames, uint32_t n);
struct trace *trace_of_call(const JVMPI_CallTrace *call);
struct trace *trace_here(JNIEnv *env); /* of the calling thread */
void traces_each(void (*f)(struct trace *t, void *arg), void *arg);
uint64_t traces_lost(void);

#endif
