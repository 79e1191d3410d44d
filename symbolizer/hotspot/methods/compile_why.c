#include <string.h>

#include "symbolizer/base/buf.h"
#include "symbolizer/hotspot/methods/compile_state.h"
#include "symbolizer/hotspot/methods/method.h"
#include "symbolizer/hotspot/reader/hotspot_parts.h"
#include "symbolizer/hotspot/reader/jvm.h"

/* In release builds HugeMethodLimit is a constant (runtime/globals.hpp, 8 to 25). */
enum { HUGE_METHOD_LIMIT = 8000 };

static uint64_t flag(struct jvm *jvm, const char *name, uint64_t otherwise)
{
	uint64_t v;

	return jvm_flag(jvm, name, &v, NULL) == 0 ? v : otherwise;
}

static void thresholds_read(struct jvm *jvm, struct hs_compile_rules *r)
{
	/* Without C1, the thresholds from C1 to C2 apply to the interpreter's counters. */
	bool c1 = r->tiered;

	r->calls = flag(jvm, c1 ? "Tier3InvocationThreshold" : "Tier4InvocationThreshold", 0);
	r->min_calls = flag(jvm, c1 ? "Tier3MinInvocationThreshold" : "Tier4MinInvocationThreshold", 0);
	r->calls_and_loops = flag(jvm, c1 ? "Tier3CompileThreshold" : "Tier4CompileThreshold", 0);
	r->loops = flag(jvm, c1 ? "Tier3BackEdgeThreshold" : "Tier4BackEdgeThreshold", 0);
}

/* Reads a string flag; "" if it is not set, or too long. */
static void text_read(struct jvm *jvm, const char *name, char *dst, size_t size)
{
	uint64_t at = flag(jvm, name, 0);

	if (!addr_ok(at) || !mem_read_cstr(jvm->mem, at, dst, size))
		dst[0] = '\0';
}

/*
 * Does the limit on method size apply? Without tiers, JDK 17 to 25 compile methods of any size, whatever the flag says
 * (JDK-8366118; tried on 17 and 25).
 */
static bool huge_counts(const struct jvm *jvm, bool tiered)
{
	return tiered || jvm->version.major < 17 || jvm->version.major > 25;
}

bool hs_compile_rules_read(struct hotspot *hs, struct hs_compile_rules *ret)
{
	struct jvm *jvm = hs->jvm;
	uint64_t compiler;
	char only[COMPILE_TEXT_MAX];

	if (jvm_flag(jvm, "UseCompiler", &compiler, NULL) < 0)
		return false;
	*ret = (struct hs_compile_rules){
		.compiler_off = !compiler,
		/* -Xint switches off both, a full code cache only the compilers. */
		.interpreter_only = !compiler && !flag(jvm, "UseLoopCounter", true),
		.tiered = flag(jvm, "TieredCompilation", true),
	};
	if (flag(jvm, "DontCompileHugeMethods", true) && huge_counts(jvm, ret->tiered))
		ret->huge_limit = (uint32_t)flag(jvm, "HugeMethodLimit", HUGE_METHOD_LIMIT);
	thresholds_read(jvm, ret);
	text_read(jvm, "CompileOnly", only, sizeof(only));
	ret->compile_only = *only;
	text_read(jvm, "CompileCommand", ret->commands, sizeof(ret->commands));
	return true;
}

/* Appends a number like "12,345". */
static void add_number(struct buf *b, uint64_t n)
{
	if (n >= 1000) {
		add_number(b, n / 1000);
		buf_printf(b, ",%03u", (unsigned)(n % 1000));
	} else {
		buf_printf(b, "%u", (unsigned)n);
	}
}

/* Away from the threshold. */
static uint64_t one_digit(uint64_t n, bool up)
{
	uint64_t unit = 1;

	while (n / unit >= 10)
		unit *= 10;
	return (n / unit + (up && n % unit)) * unit;
}

/* full: the real number is higher. */
static void add_of(struct buf *b, uint64_t n, bool full, bool about, uint64_t limit, const char *what)
{
	if (full)
		buf_add_z(b, "over ");
	else if (about && n >= 10)
		buf_add_z(b, "about ");
	add_number(b, about ? one_digit(n, limit && n >= limit && !full) : n);
	if (limit) {
		buf_add_z(b, " of ");
		add_number(b, limit);
	}
	buf_add_z(b, what);
}

/* The conditions for compilation (compiler/compilationPolicy.cpp, CallPredicate and LoopPredicate). */
static bool reached(const struct hs_compile_rules *r, const struct hs_compile_state *s)
{
	if (s->calls_full || s->loops_full)
		return true;
	return s->loops >= r->loops || s->calls >= r->calls ||
	       (s->calls >= r->min_calls && s->calls + s->loops >= r->calls_and_loops);
}

static void add_counts(const struct hs_compile_rules *r, const struct hs_compile_state *s, bool about, struct buf *b)
{
	if (!s->counted) {
		buf_add_z(b, "below its thresholds: not counted yet");
		return;
	}
	if (!r->calls || !r->loops)
		buf_add_z(b, "not compiled: ");
	else if (reached(r, s))
		buf_add_z(b, "over its thresholds, not compiled yet: ");
	else
		buf_add_z(b, "below its thresholds: ");
	add_of(b, s->calls, s->calls_full, about, r->calls, " calls, ");
	add_of(b, s->loops, s->loops_full, about, r->loops, " loop iterations");
}

/* Appends the reason if a setting of the JVM is the cause, otherwise returns false. */
static bool add_setting(const struct hs_compile_rules *r, const struct hs_method *m, const struct hs_compile_state *s,
			struct buf *b)
{
	const char *command;
	size_t len;

	if (r->compiler_off) {
		buf_add_z(b, r->interpreter_only ? "the JVM compiles nothing (-Xint)" :
						   "the JVM's compilers are switched off");
		return true;
	}
	if (r->huge_limit && m->code_size > r->huge_limit && !s->tier) {
		add_number(b, m->code_size);
		buf_add_z(b, " bytecodes: methods over ");
		add_number(b, r->huge_limit);
		buf_add_z(b, " are not compiled (DontCompileHugeMethods)");
		return true;
	}
	command = compile_command_exclude(r->commands, m, &len);
	if (!command)
		return false;
	buf_printf(b, "excluded by CompileCommand=%.*s", (int)(len < 200 ? len : 200), command);
	return true;
}

static void add_not_compilable(const struct hs_compile_rules *r, struct buf *b)
{
	if (r->compile_only)
		buf_add_z(b, "not compilable by C1 or C2: CompileOnly leaves it out, or they gave up");
	else
		buf_add_z(b, "not compilable by C1 or C2: excluded by a file or directive, "
			     "or they gave up");
}

static void add_state(const struct hs_compile_rules *r, const struct hs_compile_state *s, bool about, struct buf *b)
{
	if (s->breakpoints)
		buf_printf(b, "has %u breakpoint%s", s->breakpoints, s->breakpoints == 1 ? "" : "s");
	else if (s->not_c2 && (s->not_c1 || !r->tiered))
		add_not_compilable(r, b);
	else if (s->tier)
		buf_printf(b, "compiled by now (%s, level %d)%s", s->tier == 4 ? "C2" : "C1", s->tier,
			   s->not_c2_osr ? ", but its loops cannot be entered compiled" : "");
	else if (s->queued)
		buf_add_z(b, "waits for a compiler thread");
	else
		add_counts(r, s, about, b);
	if (!s->tier && s->not_c1 && !s->not_c2)
		buf_add_z(b, "; not compilable by C1");
	if (!s->tier && s->not_c2 && !s->not_c1)
		buf_add_z(b, "; not compilable by C2");
}

void hs_compile_why(const struct hs_compile_rules *r, const struct hs_method *m, const struct hs_compile_state *s,
		    bool about, struct buf *b)
{
	if (!s->known)
		return;
	if (!add_setting(r, m, s, b))
		add_state(r, s, about, b);
}
