#ifndef JS_MODEL_NAMED_PROFILE_H
#define JS_MODEL_NAMED_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "symbolizer/base/strtab.h"

/*
 * A named profile: immutable once built, shaped like pprof. Writers, readers, report and diff know
 * only this type. Strings are ids of `strings`; index 0 of functions, locations and mappings
 * is "none". Stacks are leaf first.
 */

/* What a line of a location is, as outputs show it. */
enum named_kind {
	NAMED_UNKNOWN,
	NAMED_KERNEL,
	NAMED_NATIVE,
	NAMED_INTERPRETED,
	NAMED_C1,
	NAMED_C2,
	NAMED_INLINED, /* tier says into what it was compiled */
	NAMED_JAVA_NATIVE, /* native method: JNI wrapper or method handle intrinsic */
	NAMED_STUB,
	NAMED_MARK, /* [incomplete], [truncated], ... */
	NAMED_THREAD, /* synthetic root: [name tid=N] */
	NAMED_PROCESS, /* synthetic root: [comm pid=N] */
	NAMED_STATE, /* synthetic root: [blocked] */
	NAMED_KINDS
};

/*
 * What the JVM's memory showed about the compilation of a Java method during the recording; the last reading counts.
 * All 0: nothing is known. Functions that differ only in this are equal.
 */
struct named_compile {
	uint32_t why_interpreted; /* why it was not compiled, one sentence; string id, 0: not known */
	uint32_t c1_ms, c2_ms; /* when it was first seen compiled, ms after the start (at least 1); 0: never */
	uint32_t not_entrant; /* how often its compiled code was made not entrant */
};

struct named_function {
	uint32_t name; /* as shown, without suffix: "java/util/HashMap.put", "do_syscall_64" */
	uint32_t system_name; /* Java: with signature; native: mangled */
	uint32_t file;
	struct named_compile compile;
};

struct named_line {
	uint32_t function;
	int32_t line; /* 0: unknown */
	int32_t bci; /* -1: none */
	uint8_t kind; /* enum named_kind */
	uint8_t tier; /* 0..4, Java only */
	uint8_t exactness; /* enum exactness (attribution.h), compiled Java only */
	bool osr;
};

struct named_location {
	uint32_t mapping;
	uint64_t address; /* ELF vaddr for native, 0 for kernel (no kernel addresses in files) */
	uint32_t first_line, n_lines; /* into lines, innermost first */
};

struct named_mapping {
	uint32_t file, build_id; /* file: path, or [jit], [interpreter], [stubs], [kernel] */
};

struct named_stack {
	uint32_t first, n; /* into stack_locations */
};

struct named_sample {
	uint32_t stack;
	uint64_t count, weight;
	int32_t pid, tid; /* 0: not kept apart */
	uint32_t thread; /* name; string id */
	uint32_t state; /* string id; 0: none */
	uint32_t slice; /* time slice, the first is 1; 0: not kept apart */
};

struct named_meta {
	const char *event, *unit; /* "cpu", "nanoseconds"; borrowed from strings */
	uint64_t period; /* in the event's unit; 0: it varies, or is unknown */
	uint64_t start_realtime_ns, duration_ns;
	uint64_t slice_ns; /* width of the samples' time slices; 0: there are none */
	uint64_t lost;
	const char *command; /* command line of the target, escaped */
	const char *jdk; /* "" if not a JVM */
	const char *jsampler; /* command line of jsampler */
	uint64_t complete, resynchronised, incomplete, frozen;
	uint64_t exactness[4]; /* samples by exactness of the leaf */
	bool lines_shown; /* its texts show line numbers (--lines) */
	uint64_t no_record; /* leaf samples in compiled code for which no record exists at the pc */
};

struct named_profile {
	struct strtab *strings;
	struct named_function *functions;
	uint32_t n_functions;
	struct named_line *lines;
	uint32_t n_lines;
	struct named_location *locations;
	uint32_t n_locations;
	struct named_mapping *mappings;
	uint32_t n_mappings;
	uint32_t *stack_locations;
	uint32_t n_stack_locations;
	struct named_stack *stacks;
	uint32_t n_stacks;
	struct named_sample *samples;
	uint32_t n_samples;
	struct named_meta meta;
};

/* Merges two readings of one method, or those of two methods of the same name: the earlier times, the first reason, the sum of
 * not_entrant. */
static inline void named_compile_add(struct named_compile *to, const struct named_compile *c)
{
	if (!to->why_interpreted)
		to->why_interpreted = c->why_interpreted;
	if (!to->c1_ms || (c->c1_ms && c->c1_ms < to->c1_ms))
		to->c1_ms = c->c1_ms;
	if (!to->c2_ms || (c->c2_ms && c->c2_ms < to->c2_ms))
		to->c2_ms = c->c2_ms;
	to->not_entrant += c->not_entrant;
}

/* Is it a process, thread or state, a root that jsampler has added? */
static inline bool named_is_root_label(const struct named_line *l)
{
	return l->kind == NAMED_THREAD || l->kind == NAMED_PROCESS || l->kind == NAMED_STATE;
}

/* Are weights CPU times? */
static inline bool named_is_time(const struct named_meta *m)
{
	return m->unit && strcmp(m->unit, "nanoseconds") == 0;
}

static inline const char *named_string(const struct named_profile *np, uint32_t id)
{
	return strtab_get(np->strings, id);
}

#endif
