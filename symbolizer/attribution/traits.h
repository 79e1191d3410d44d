#ifndef JS_ATTRIBUTION_TRAITS_H
#define JS_ATTRIBUTION_TRAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/attribution/graph.h"

/*
 * What a loop does, in machine code and in the bytecodes of a method, to exclude methods that a loop without
 * evidence cannot belong to.
 */
struct machine_traits {
	bool floating;
	bool stub_call, runtime_call; /* calls without a record, of stubs and of native code */
};

struct bytecode_traits {
	bool loops; /* there is a backward branch */
	bool unknown; /* calls something whose bytecodes are unknown */
	/* of the loops and of what they call: */
	bool floating;
	bool objects; /* loads or stores of references may call a barrier; allocations */
	bool conversion; /* floating point to integer or a remainder: may call a stub */
	bool math, time; /* intrinsics that are always calls: of math functions, of the runtime */
	bool power; /* one that is a call or arithmetic, depending on its operands */
	bool left_out; /* bytecode_traits_at() only */
};

struct machine_traits machine_traits(const struct graph *g, int32_t loop);

void bytecode_traits(const struct attribution_env *env, uint32_t method_id, struct bytecode_traits *ret);

/*
 * The same for the method inlined as that node; left_out: it has one loop, with a call that was not compiled. That
 * call has no record, although there would be one: the callee accesses arrays, whose bounds are checked. So
 * an uncommon trap is in its place, and the loop, if there is one, has evidence.
 */
void bytecode_traits_at(const struct graph *g, const struct attribution_env *env, int32_t node,
			struct bytecode_traits *ret);

/* The cache for env->traits. */
struct traits_memo *traits_memo_new(void);
void traits_memo_free(struct traits_memo *m);

/* Can such bytecodes compile to such machine code? true if in doubt. */
bool traits_agree(const struct machine_traits *m, const struct bytecode_traits *b);

#endif
