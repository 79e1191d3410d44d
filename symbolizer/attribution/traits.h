#ifndef JS_ATTRIBUTION_TRAITS_H
#define JS_ATTRIBUTION_TRAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolizer/attribution/graph.h"

/*
 * What a loop does, in machine code and in the bytecodes of a method. This excludes methods to which a loop without
 * evidence cannot belong.
 */
struct machine_traits {
	bool floating;
	bool stub_call, runtime_call; /* calls without a record, of stubs and of native code */
};

struct bytecode_traits {
	bool loops; /* there is a backward branch */
	bool unknown; /* it calls a method whose bytecodes are unknown */
	/* in its loops, and in the methods called there: */
	bool floating;
	bool objects; /* accesses to references, which may call a barrier; allocations */
	bool conversion; /* floating point to integer, or a remainder: may call a stub */
	bool math, time; /* intrinsics that are always calls: to math functions, to the runtime */
	bool power; /* an intrinsic that is a call or arithmetic, depending on its operands */
	bool left_out; /* set only by bytecode_traits_at() */
};

struct machine_traits machine_traits(const struct graph *g, int32_t loop);

void bytecode_traits(const struct attribution_env *env, uint32_t method_id, struct bytecode_traits *ret);

/*
 * The same for the method inlined as that node. left_out: it has one loop, and a call in it was not compiled. The
 * callee accesses arrays, and their bounds checks would have left a record, but there is none. So an uncommon trap took
 * the place of the call, and the loop, if it exists in the code, has evidence.
 */
void bytecode_traits_at(const struct graph *g, const struct attribution_env *env, int32_t node,
			struct bytecode_traits *ret);

/* The cache for env->traits. */
struct traits_memo *traits_memo_new(void);
void traits_memo_free(struct traits_memo *m);

/* Can these bytecodes compile to this machine code? true if in doubt. */
bool traits_agree(const struct machine_traits *m, const struct bytecode_traits *b);

#endif
