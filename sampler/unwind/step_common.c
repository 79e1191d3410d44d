#include "sampler/unwind/flow.h"
#include "sampler/unwind/step.h"
#include "sampler/unwind/validate.h"
#include "sampler/unwind/walker.h"
#include "symbolizer/hotspot/code/code.h"

/* Steps that several kinds of frames share. */

static uint32_t fetch(void *ctx, uint64_t pc, uint8_t *dst, uint32_t len)
{
	struct walker *w = ctx;

	return hs_code_bytes(w->hs, pc, dst, len);
}

/* False for code that is jumped to while the frame still exists: deoptimisation and exception blobs, and places where
 * C1 forwards an exception from one of its stubs to another. */
static bool leaves_frame(void *ctx, uint64_t target)
{
	struct walker *w = ctx;
	const struct code *c;

	if (!hs_in_code_cache(w->hs, target))
		return false;
	if (hs_in_interpreter(w->hs, target))
		return true;
	c = hs_code(w->hs, hs_code_find(w->hs, target));
	if (!c || c->kind == BLOB_DEOPT || c->kind == BLOB_EXCEPTION || c->kind == BLOB_UPCALL)
		return false;
	return c->role != STUB_FORWARD_EXCEPTION;
}

struct flow_options step_flow_options(struct walker *w, const struct code *c, unsigned budget)
{
	return (struct flow_options){
		.fetch = fetch,
		.leaves = leaves_frame,
		.ctx = w,
		.lo = c->begin,
		.hi = c->end,
		.budget = (uint16_t)budget,
	};
}

bool step_top(struct walker *w)
{
	uint64_t pc, sp = walker_sp(w), fp;
	bool fp_known = walker_fp(w, &fp);

	if (!mem_read_u64(w->mem, sp, &pc) || !is_return(w, pc))
		return false;
	if (w->hs && hs_in_code_cache(w->hs, pc)) {
		if (fp_known)
			walker_goto(w, pc, sp + 8, fp);
		else
			walker_goto_no_fp(w, pc, sp + 8);
		return true;
	}
	/* Back in native code: what a function without a frame has not changed still has the caller's value. */
	w->regs.known &= w->arch->callee_saved;
	regs_set(&w->regs, w->arch->pc, pc);
	regs_set(&w->regs, w->arch->sp, sp + 8);
	w->exact = false;
	return true;
}

static bool is_return_of(struct walker *w, const struct code *c, uint64_t pc)
{
	bool java = c->kind == BLOB_NMETHOD || c->kind == BLOB_NATIVE;

	return java ? is_caller_of_java(w, pc) : is_return(w, pc);
}

bool step_by_size(struct walker *w, const struct code *c, uint64_t sp, bool checked)
{
	uint64_t words[2], end = sp + 8 * (uint64_t)c->frame_size;

	if (c->frame_size < 2 || end < sp || !mem_read(w->mem, end - 16, words, sizeof(words)))
		return false;
	if ((checked || end > w->copied_end) && !is_return_of(w, c, words[1]))
		return false;
	walker_goto(w, words[1], end, words[0]);
	return true;
}

bool step_by_row(struct walker *w, const struct flow_row *row)
{
	struct regs next = {.known = 0};
	uint64_t pc, sp, v;

	if (!flow_eval(&row->ra, &w->regs, w->mem, &pc) || !flow_eval(&row->sp, &w->regs, w->mem, &sp) ||
	    sp < walker_sp(w) || !walker_on_stack(w, sp) ||
	    !(is_return(w, pc) || (row->end == FLOW_RETURN && is_method_pc(w, pc))))
		return false;
	for (unsigned i = 0; i < SAVED_REGS; i++)
		if (flow_eval(&row->saved[i], &w->regs, w->mem, &v))
			regs_set(&next, flow_saved_regs[i], v);
	regs_set(&next, w->arch->pc, pc);
	regs_set(&next, w->arch->sp, sp);
	w->regs = next;
	w->exact = false;
	return true;
}
