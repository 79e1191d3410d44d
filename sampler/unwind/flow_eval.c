#include "sampler/unwind/flow.h"
#include "symbolizer/target/mem.h"

bool flow_eval(const struct flow_val *v, const struct regs *regs, struct mem *mem, uint64_t *ret)
{
	uint64_t word;

	if (v->kind == FLOW_UNKNOWN || v->base >= FLOW_ALIGNED || !regs_known(regs, v->base))
		return false;
	word = regs->r[v->base] + (uint64_t)(int64_t)v->off;
	if (v->kind != FLOW_REG) {
		if (!mem_read_u64(mem, word, &word))
			return false;
		word += (uint64_t)(int64_t)v->add;
	}
	if (v->kind == FLOW_DEEP || v->kind == FLOW_DEEPER) {
		if (!mem_read_u64(mem, word, &word))
			return false;
		word += (uint64_t)(int64_t)v->more;
	}
	if (v->kind == FLOW_DEEPER && !mem_read_u64(mem, word, &word))
		return false;
	*ret = word;
	return true;
}
