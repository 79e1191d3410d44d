#ifndef JS_HOTSPOT_COMPILE_STATE_H
#define JS_HOTSPOT_COMPILE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct hotspot;
struct hs_method;

/* How far the compilers have got with a method, from the JVM's memory at one moment. */
struct hs_compile_state {
	bool known; /* false: not read, or the method no longer exists */
	bool counted; /* the JVM has counters for it */
	uint64_t calls, loops; /* invocations, backedges: sums over both sets of counters */
	bool calls_full, loops_full; /* a counter overflowed: the real number may be higher */
	uint32_t not_entrant; /* how often its C2 code was discarded (MethodData::_nof_decompiles) */
	uint32_t breakpoints;
	bool not_c1, not_c2, not_c2_osr; /* permanently not compilable by that compiler */
	bool queued; /* waits for a compiler thread */
	int8_t tier; /* of the nmethod that calls enter now; 0: none */
};

/*
 * Reads the states of methods by id, in a few batches. `known` is false for a method that was replaced. 0 or -ENOMEM.
 */
int hs_compile_states(struct hotspot *hs, const uint32_t *methods, size_t n, struct hs_compile_state *ret);

/* The JVM's settings that decide which methods are compiled. */
enum { COMPILE_TEXT_MAX = 4096 };
struct hs_compile_rules {
	bool compiler_off; /* UseCompiler is false */
	bool interpreter_only; /* by -Xint */
	bool tiered; /* the interpreter's counters lead to C1 first */
	uint32_t huge_limit; /* methods with more bytes of bytecode are not compiled; 0: all are */
	uint64_t calls, min_calls, calls_and_loops, loops; /* thresholds; 0: not known */
	bool compile_only; /* CompileOnly is set */
	char commands[COMPILE_TEXT_MAX]; /* CompileCommand, one per line */
};
/* false: the JVM's flags cannot be read (it has ended). */
bool hs_compile_rules_read(struct hotspot *hs, struct hs_compile_rules *ret);

/*
 * Appends one sentence without a full stop: why the method was interpreted. Appends nothing if the reason is unknown.
 * The caller reports how often it was made not entrant. about: counts have one significant digit, so that there are few
 * different sentences.
 */
void hs_compile_why(const struct hs_compile_rules *rules, const struct hs_method *m, const struct hs_compile_state *s,
		    bool about, struct buf *out);

/*
 * The command of -XX:CompileCommand (separated by line ends or "\n") that excludes the method, not terminated, and its
 * length; NULL: none does.
 */
const char *compile_command_exclude(const char *commands, const struct hs_method *m, size_t *ret_len);

#endif
