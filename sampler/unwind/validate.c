#include "sampler/unwind/validate.h"

#include "sampler/unwind/pc_cache.h"
#include "sampler/unwind/walker.h"
#include "symbolizer/hotspot/code.h"
#include "symbolizer/hotspot/hs_arch.h"
#include "symbolizer/native/modmap.h"

bool is_deopt_handler(const struct code *c, uint64_t pc)
{
	int64_t off = (int64_t)(pc - c->begin);

	return c->kind == BLOB_NMETHOD && (off == c->deopt_handler || off == c->deopt_mh_handler);
}

static bool behind_call(struct walker *w, uint64_t pc, uint32_t owner, bool java)
{
	uint8_t *verdict = pc_cache_verdict(w->rows, pc, owner);
	uint8_t before[8];
	bool ok;

	if (*verdict)
		return *verdict == 2;
	ok = pc > sizeof(before)
	     && (java ? hs_bytes_before(w->hs, pc, before)
		      : mem_read(w->mem, pc - sizeof(before), before, sizeof(before)))
	     && w->arch->ends_in_call(before, sizeof(before));
	*verdict = ok ? 2 : 1;
	return ok;
}

bool is_java_return(struct walker *w, uint64_t pc)
{
	const struct code *c;
	uint32_t id;

	if (!w->hs || !hs_in_code_cache(w->hs, pc))
		return false;
	/* The interpreter pushes entry points of its own as return addresses. */
	if (hs_in_interpreter(w->hs, pc) || pc == hs_call_stub_return(w->hs)
		|| pc == hs_cont_return_barrier(w->hs))
		return true;
	id = hs_code_find(w->hs, pc);
	c = hs_code(w->hs, id);
	if (!c || pc <= c->begin || pc > c->end)
		return false;
	return is_deopt_handler(c, pc) || behind_call(w, pc, id, true);
}

bool is_native_return(struct walker *w, uint64_t pc)
{
	struct modmap_hit hit;

	if (pc < 4096 || pc >= w->arch->user_limit || (w->hs && hs_in_code_cache(w->hs, pc)))
		return false;
	hit = modmap_find(w->maps, pc - 1);
	return hit.kind != MODMAP_NONE && behind_call(w, pc, UINT32_MAX - hit.dso_id, false);
}

bool is_return(struct walker *w, uint64_t pc)
{
	return w->hs && hs_in_code_cache(w->hs, pc) ? is_java_return(w, pc)
						     : is_native_return(w, pc);
}
