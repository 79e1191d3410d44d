#include "sampler/unwind/validate.h"

#include "sampler/unwind/pc_cache.h"
#include "sampler/unwind/walker.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/native/modules/modmap.h"

bool is_deopt_handler(const struct code *c, uint64_t pc)
{
	int64_t off = (int64_t)(pc - c->begin);

	return c->kind == BLOB_NMETHOD && (off == c->deopt_handler || off == c->deopt_mh_handler);
}

/* An exception that is being thrown may have replaced a return address with a handler's. */
static bool is_handler(const struct code *c, uint64_t pc)
{
	uint64_t off = pc - c->begin;

	if (c->kind != BLOB_NMETHOD)
		return false;
	if ((int64_t)off == c->exception_handler)
		return true;
	for (uint32_t i = 0; i < c->n_handlers; i++)
		if (c->handlers[i] == off)
			return true;
	return false;
}

/* Every call of a method has a record at its return address; so have polls, whose handler is entered
 * as if the polling instruction had called it. */
static bool has_record(const struct code *c, uint64_t pc)
{
	return code_record_at(c, (int64_t)(pc - c->begin));
}

/* Whether a pc can be a return address. Cached; 0: unknown. */
enum verdict { VERDICT_NO = 1, VERDICT_CALL, VERDICT_RECORD };

static enum verdict judge(struct walker *w, uint64_t pc, const struct code *c)
{
	uint8_t before[8];
	bool ok;

	if (c && has_record(c, pc))
		return VERDICT_RECORD;
	if (c && is_handler(c, pc))
		return VERDICT_CALL;
	ok = pc > sizeof(before) &&
	     (c ? hs_bytes_before(w->hs, pc, before) : mem_read(w->mem, pc - sizeof(before), before, sizeof(before))) &&
	     w->arch->ends_in_call(before, sizeof(before));
	return ok ? VERDICT_CALL : VERDICT_NO;
}

static enum verdict verdict_of(struct walker *w, uint64_t pc, uint32_t owner, const struct code *c)
{
	uint8_t *known = pc_cache_verdict(w->rows, pc, owner);

	if (!*known)
		*known = (uint8_t)judge(w, pc, c);
	return (enum verdict) * known;
}

bool is_recorded(struct walker *w, const struct code *c, uint64_t pc)
{
	return verdict_of(w, pc, c->id, c) == VERDICT_RECORD;
}

bool is_java_return(struct walker *w, uint64_t pc)
{
	const struct code *c;
	uint32_t id;

	if (!w->hs || !hs_in_code_cache(w->hs, pc))
		return false;
	/* The interpreter pushes its own entry points as return addresses. */
	if (hs_in_interpreter(w->hs, pc) || pc == hs_call_stub_return(w->hs) || pc == hs_cont_return_barrier(w->hs))
		return true;
	id = hs_code_find(w->hs, pc);
	c = hs_code(w->hs, id);
	if (!c || pc <= c->begin || pc > c->end)
		return false;
	return c->gone || is_deopt_handler(c, pc) || verdict_of(w, pc, id, c) != VERDICT_NO;
}

bool is_caller_of_java(struct walker *w, uint64_t pc)
{
	uint32_t id;
	const struct code *c;

	if (!is_java_return(w, pc))
		return false;
	if (hs_in_interpreter(w->hs, pc))
		return true;
	id = hs_code_find(w->hs, pc);
	c = hs_code(w->hs, id);
	return !c || c->gone || c->kind != BLOB_NMETHOD || is_deopt_handler(c, pc) || is_handler(c, pc) ||
	       is_recorded(w, c, pc);
}

bool is_method_pc(struct walker *w, uint64_t pc)
{
	const struct code *c = NULL;

	if (w->hs && hs_in_code_cache(w->hs, pc))
		c = hs_code(w->hs, hs_code_find(w->hs, pc));
	return c && c->kind == BLOB_NMETHOD && pc >= c->begin && pc < c->end;
}

bool is_native_return(struct walker *w, uint64_t pc)
{
	struct modmap_hit hit;

	if (pc < 4096 || pc >= w->arch->user_limit || (w->hs && hs_in_code_cache(w->hs, pc)))
		return false;
	hit = modmap_find(w->maps, pc - 1);
	return hit.kind != MODMAP_NONE && verdict_of(w, pc, UINT32_MAX - hit.dso_id, NULL) != VERDICT_NO;
}

bool is_return(struct walker *w, uint64_t pc)
{
	return w->hs && hs_in_code_cache(w->hs, pc) ? is_java_return(w, pc) : is_native_return(w, pc);
}
