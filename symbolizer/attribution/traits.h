#ifndef JS_ATTRIBUTION_TRAITS_H
#define JS_ATTRIBUTION_TRAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/attribution/graph.h"

/*
 * What a loop does, seen from both sides: in machine code, and in the bytecodes of a method. Used to
 * tell which method a loop without evidence cannot be.
 */
struct machine_traits {
	bool floating;
	bool stub_call, runtime_call; /* calls without a record, of stubs and of native code */
};

struct bytecode_traits {
	bool loops; /* there is a backward branch */
	bool unknown; /* calls something whose bytecodes are not known */
	/* of the loops and of what they call: */
	bool floating;
	bool objects; /* loads or stores of references may call a barrier; allocations */
	bool conversion; /* floating point to integer or a remainder: may call a stub */
	bool math, time; /* intrinsics that are always calls: of math, of the runtime */
	bool power; /* one that is a call of math or arithmetic, as its operands want */
	bool left_out; /* bytecode_traits_at() only */
};

struct machine_traits machine_traits(const struct graph *g, int32_t loop);

void bytecode_traits(const struct attribution_env *env, uint32_t method_id,
		     struct bytecode_traits *ret);

/*
 * The same of the method inlined as that node; left_out: it has one loop, and a call in there was never
 * compiled. No record is of that call, and there would be one: what is called reads or writes arrays, whose
 * bounds are checked. So an uncommon trap is in its place, and the loop, if there is one, has evidence.
 */
void bytecode_traits_at(const struct graph *g, const struct attribution_env *env, int32_t node,
			struct bytecode_traits *ret);

/* What was said of methods, for env->traits. */
struct traits_memo *traits_memo_new(void);
void traits_memo_free(struct traits_memo *m);

/* Can machine code like that be made of such bytecodes? true when in doubt. */
bool traits_agree(const struct machine_traits *m, const struct bytecode_traits *b);

#endif
