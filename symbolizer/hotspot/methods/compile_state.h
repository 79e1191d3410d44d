#ifndef JS_HOTSPOT_COMPILE_STATE_H
#define JS_HOTSPOT_COMPILE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct hotspot;
struct hs_method;

/* What the JVM's memory says of a method's way through the compilers, at one moment. */
struct hs_compile_state {
	bool known; /* false: not read, or the method is gone */
	bool counted; /* the JVM keeps counters of it */
	uint64_t calls, loops; /* invocations, backedges: the sum of both sets of counters */
	bool calls_full, loops_full; /* a counter ran over: at least this many */
	uint32_t not_entrant; /* times its C2 code was thrown away (MethodData::_nof_decompiles) */
	uint32_t breakpoints;
	bool not_c1, not_c2, not_c2_osr; /* not compilable by, for good */
	bool queued; /* waits for a compiler thread */
	int8_t tier; /* of the code that calls enter now; 0: none */
};

/*
 * States of methods by id, in a few batches of reads. A method that is no longer what its id says
 * is not known. 0 or -ENOMEM.
 */
int hs_compile_states(struct hotspot *hs, const uint32_t *methods, size_t n,
		      struct hs_compile_state *ret);

/* The JVM's settings that decide what is compiled. */
enum { COMPILE_TEXT_MAX = 4096 };
struct hs_compile_rules {
	bool compiler_off; /* UseCompiler is false */
	bool interpreter_only; /* by -Xint */
	bool tiered; /* calls and loops of the interpreter lead to C1 first */
	uint32_t huge_limit; /* methods of more bytecodes are not compiled; 0: all are */
	uint64_t calls, min_calls, calls_and_loops, loops; /* thresholds; 0: not known */
	bool compile_only; /* CompileOnly is set */
	char commands[COMPILE_TEXT_MAX]; /* CompileCommand, one a line */
};
/* false: the JVM's flags cannot be read (it ended). */
bool hs_compile_rules_read(struct hotspot *hs, struct hs_compile_rules *ret);

/*
 * Adds one sentence without a full stop: why the method was interpreted. Adds nothing where nothing
 * is known. How often it was made not entrant is for the caller to say.
 */
void hs_compile_why(const struct hs_compile_rules *rules, const struct hs_method *m,
		    const struct hs_compile_state *s, struct buf *out);

/*
 * Does one of these commands (lines, or parts between \n, as -XX:CompileCommand takes them) exclude the
 * method? The command then, not terminated, and its length; else NULL.
 */
const char *compile_command_exclude(const char *commands, const struct hs_method *m,
				    size_t *ret_len);

#endif
