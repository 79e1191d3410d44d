#include "symbolizer/hotspot/code/trap.h"

#include "symbolizer/hotspot/reader/hotspot_parts.h"
#include "symbolizer/hotspot/reader/jvm.h"

static bool is_reason(struct hs_constant c, int64_t reason)
{
	return c.ok && c.value == reason;
}

static bool is_predicate(const struct hs_layout *l, int64_t reason)
{
	return is_reason(l->c.trap_predicate, reason) || is_reason(l->c.trap_profile_predicate, reason) ||
	       is_reason(l->c.trap_loop_limit, reason) || is_reason(l->c.trap_vectorization, reason) ||
	       is_reason(l->c.trap_long_loop, reason);
}

enum trap_kind hs_trap_kind(const struct hotspot *hs, int32_t request)
{
	const struct hs_layout *l = &hs->jvm->l;
	const struct hs_constant shift = l->c.trap_reason_shift, bits = l->c.trap_reason_bits;
	int64_t reason;

	/*
	 * A request that is not negative is the index of an unloaded class (deoptimization.hpp, trap_request_reason()).
	 */
	if (request >= 0 || !shift.ok || !bits.ok || shift.value < 0 || shift.value > 16 || bits.value < 1 ||
	    bits.value > 15)
		return TRAP_OF_CHECK;
	reason = (~request >> shift.value) & ((1 << bits.value) - 1);
	if (is_predicate(l, reason))
		return TRAP_OF_LOOP;
	if (is_reason(l->c.trap_unstable_if, reason) || is_reason(l->c.trap_fused_if, reason))
		return TRAP_OF_BRANCH;
	return TRAP_OF_CHECK;
}
