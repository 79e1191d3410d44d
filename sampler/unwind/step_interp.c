#include "sampler/unwind/pc_cache.h"
#include "sampler/unwind/step.h"
#include "sampler/unwind/validate.h"
#include "sampler/unwind/walker.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/hotspot/methods/method.h"
#include "symbolizer/hotspot/reader/hs_arch.h"

/* Longest way from a pc in an entry point to the built frame, or in a return to its jump. */
enum { INTERP_BUDGET = 160, HALF_BUILT = 3 * 8, LOWEST_OBJECT = 4096 };

/* The words around the frame pointer from which an interpreter frame is read. */
enum { FRAME_LO = -10, FRAME_WORDS = 12 };

struct interp_frame {
	uint64_t method, bcp, sender_sp, pc, fp;
};

static bool in_method_entry(const struct walker *w)
{
	return hs_codelet_role(w->hs, walker_pc(w)) == STUB_METHOD_ENTRY;
}

static void classify(struct walker *w, const struct code *c, struct pc_entry *e)
{
	const struct hs_interp_layout *l = hs_interp_layout(w->hs);
	struct flow_options o = step_flow_options(w, c, INTERP_BUDGET);
	struct flow_val whole = {FLOW_MEM, (uint8_t)w->arch->fp, 8 * l->return_pc, 0, 0};
	const struct flow_row *r = &e->row;

	o.leaves = NULL;
	o.interpreter = true;
	o.sender_sp_slot = (int8_t)l->sender_sp;
	o.method_slot = (int8_t)l->method;
	flow_follow(w->flow, &o, walker_pc(w), &e->row);
	e->cls = ROW_FLOW;
	if (r->end == FLOW_NONE || r->end == FLOW_TAIL_MEM ||
	    (r->end == FLOW_JUMP_REG && flow_same(r->target, whole)) ||
	    (r->end == FLOW_JUMP_REG && flow_same(r->thrown_at, whole)) || (r->end == FLOW_TAIL && !in_method_entry(w)))
		e->cls = ROW_COMPLETE;
}

/* The bci of a frame: at the leaf, the register has the current one; the slot is written at calls. */
static int64_t find_bci(struct walker *w, const struct hs_method *m, uint64_t slot)
{
	unsigned reg = hs_interp_layout(w->hs)->bcp_reg;
	int32_t bci = -1;

	if (m->access_flags & METHOD_NATIVE || m->gone)
		return FRAME_NO_BCI;
	if (regs_known(&w->regs, reg))
		bci = hs_method_bci(m, w->regs.r[reg]);
	if (bci < 0)
		bci = hs_method_bci(m, slot);
	/* JDK 8 keeps a plain bci in the slot during some collections. */
	if (bci < 0 && slot < m->code_size && hotspot_version(w->hs)->major == 8)
		bci = (int32_t)slot;
	return bci < 0 ? 0 : bci;
}

static bool push_method(struct walker *w, uint32_t id, uint64_t bcp_slot)
{
	const struct hs_method *m = hs_method(w->hs, id);

	return walker_push(w, FRAME_INTERPRETED, 0, id, m ? find_bci(w, m, bcp_slot) : 0);
}

/* False: no method is there. An ID of 0: a method of a class that may be unloaded by now. */
static bool find_method(struct walker *w, uint64_t addr, uint32_t *ret)
{
	*ret = hs_method_find(w->hs, addr);
	return *ret || (addr >= LOWEST_OBJECT && addr % 8 == 0 && hs_method_lost(w->hs));
}

/* Makes the step if the frame's outer half is plausible. */
static bool leave_frame(struct walker *w, const struct interp_frame *f)
{
	uint64_t sp = walker_sp(w);

	if (f->sender_sp < sp || !walker_on_stack(w, f->sender_sp) || !is_java_return(w, f->pc))
		return false;
	walker_goto(w, f->pc, f->sender_sp, f->fp);
	return true;
}

/* The method is pushed first, because the bytecode pointer may be in a register of its own. */
static bool push_and_leave(struct walker *w, uint32_t method_id, const struct interp_frame *f)
{
	uint32_t n = w->n;

	if (!push_method(w, method_id, f->bcp))
		return false;
	if (leave_frame(w, f))
		return true;
	w->n = n;
	return false;
}

/*
 * Before the frame is built: what will be in its slots is known (JDK src/hotspot/cpu/x86/
 * templateInterpreterGenerator_x86.cpp, 17: generate_normal_entry(), generate_fixed_frame()).
 */
static bool step_building(struct walker *w, const struct flow_row *row)
{
	struct interp_frame f = {0};
	uint32_t id;

	if (row->end != FLOW_BUILT || !flow_eval(&row->ra, &w->regs, w->mem, &f.pc) ||
	    !flow_eval(&row->saved[SAVED_FP], &w->regs, w->mem, &f.fp) ||
	    !flow_eval(&row->slot[SLOT_SENDER_SP], &w->regs, w->mem, &f.sender_sp) ||
	    !flow_eval(&row->slot[SLOT_METHOD], &w->regs, w->mem, &f.method))
		return false;
	return find_method(w, f.method, &id) && push_and_leave(w, id, &f);
}

/* Between the move of the frame pointer and the push of Method*: at most three words below it. */
static bool step_half_built(struct walker *w)
{
	const struct hs_interp_layout *l = hs_interp_layout(w->hs);
	uint64_t fp, sp = walker_sp(w);
	struct interp_frame f = {0};
	uint32_t id;

	if (!w->exact || !walker_fp(w, &fp) || fp < sp || fp - sp >= HALF_BUILT || !in_method_entry(w))
		return false;
	if (!mem_read_u64(w->mem, fp + 8 * (uint64_t)l->return_pc, &f.pc) || !mem_read_u64(w->mem, fp, &f.fp))
		return false;
	f.sender_sp = w->regs.r[l->sender_sp_reg];
	if (fp > sp && !mem_read_u64(w->mem, fp - 8, &f.sender_sp))
		return false;
	return find_method(w, w->regs.r[l->method_reg], &id) && push_and_leave(w, id, &f);
}

/* After `leave`, up to the jump to the caller; also error paths of an entry point. The method's own
 * frame is gone. Exception handlers are found by the return address in a register. */
static bool step_exit(struct walker *w, const struct flow_row *row)
{
	const struct flow_val *candidate[2] = {&row->ra, NULL};
	struct interp_frame f = {0};
	bool fp_known;

	if (row->end == FLOW_JUMP_REG) {
		candidate[0] = &row->target;
		candidate[1] = &row->thrown_at;
	}
	fp_known = flow_eval(&row->saved[SAVED_FP], &w->regs, w->mem, &f.fp);
	if (!fp_known || !flow_eval(&row->sp, &w->regs, w->mem, &f.sender_sp))
		return false;
	for (int i = 0; i < 2 && candidate[i]; i++) {
		if (!flow_eval(candidate[i], &w->regs, w->mem, &f.pc))
			continue;
		/* A subroutine of the interpreter returns into the frame that is still there. */
		if (row->end == FLOW_RETURN && hs_in_interpreter(w->hs, f.pc))
			return false;
		if (leave_frame(w, &f))
			return true;
	}
	return false;
}

static uint64_t word_at(const uint64_t *words, int slot)
{
	return slot >= FRAME_LO && slot < FRAME_LO + FRAME_WORDS ? words[slot - FRAME_LO] : 0;
}

/* The frame pointer, or the anchor's if native code did not restore it. */
static bool find_fp(struct walker *w, uint64_t *ret)
{
	const struct hs_thread *t;
	struct hs_anchor a;

	if (walker_fp(w, ret))
		return true;
	t = walker_thread(w);
	if (!t || !hs_thread_anchor(w->hs, t, &a) || a.sp != walker_sp(w) || !a.fp)
		return false;
	*ret = a.fp;
	return true;
}

static bool read_frame(struct walker *w, uint64_t fp, struct interp_frame *ret)
{
	const struct hs_interp_layout *l = hs_interp_layout(w->hs);
	uint64_t words[FRAME_WORDS];

	if (!mem_read(w->mem, fp + 8 * (int64_t)FRAME_LO, words, sizeof(words)))
		return false;
	*ret = (struct interp_frame){
		.method = word_at(words, l->method),
		.bcp = word_at(words, l->bcp),
		.sender_sp = word_at(words, l->sender_sp),
		.pc = word_at(words, l->return_pc),
		.fp = word_at(words, l->saved_fp),
	};
	return true;
}

/* Is the previous frame deoptimisation's, or one that deoptimisation makes? */
static bool behind_deopt(const struct walker *w)
{
	const struct frame_key *k = w->n ? &w->frames[w->n - 1] : NULL;
	const struct code *c = k && k->kind == FRAME_STUB ? hs_code(w->hs, k->id) : NULL;

	return (c && c->kind == BLOB_DEOPT) || (k && k->kind == FRAME_MARK && k->off == MARK_DEOPT);
}

/*
 * Deoptimisation first makes all frames, each to be returned to at an interpreter entry made for that, and then fills
 * them, the outermost first; a filled one is returned to like an ordinary frame
 * (Deoptimization::fetch_unroll_info_helper(), vframeArrayElement::unpack_on_stack(), JDK 8 to 25). Until then
 * another frame's Method* may be left in its slot.
 */
static bool is_unfilled(const struct walker *w)
{
	return !w->exact && behind_deopt(w) && hs_codelet_role(w->hs, walker_pc(w)) == STUB_DEOPT_ENTRY;
}

/* A frame that deoptimisation is making: its outer half is written first (JDK
 * src/hotspot/cpu/x86/sharedRuntime_x86_64.cpp, 17: generate_deopt_blob()). */
static int step_deopt(struct walker *w, const struct interp_frame *f)
{
	bool deopt = behind_deopt(w);

	/* What the thread says is from a later time than the sample. */
	if (!deopt) {
		const struct hs_thread *t = walker_thread(w);

		deopt = t && hs_thread_in_deopt(w->hs, t);
	}
	if (!deopt)
		return WALK_BAD_FRAME;
	if (!walker_push(w, FRAME_MARK, 0, 0, MARK_DEOPT))
		return WALK_TOO_DEEP;
	return leave_frame(w, f) ? STEP_MORE : WALK_DEOPT;
}

static int step_whole(struct walker *w)
{
	struct interp_frame f;
	uint64_t fp;
	uint32_t id;

	if (!find_fp(w, &fp) || fp < walker_sp(w) || !walker_on_stack(w, fp))
		return WALK_BAD_FRAME;
	if (!read_frame(w, fp, &f))
		return WALK_BAD_MEMORY;
	if (f.sender_sp <= fp)
		return WALK_BAD_FRAME;
	if (is_unfilled(w) || !find_method(w, f.method, &id))
		return step_deopt(w, &f);
	if (push_and_leave(w, id, &f))
		return STEP_MORE;
	return w->n >= WALK_MAX_FRAMES ? WALK_TOO_DEEP : WALK_BAD_FRAME;
}

int step_interp(struct walker *w)
{
	uint32_t id = hs_code_find(w->hs, walker_pc(w));
	const struct code *c = hs_code(w->hs, id);
	struct pc_entry *e;
	bool hit;

	if (!c)
		return WALK_NO_BLOB;
	e = pc_cache_get(w->rows, walker_pc(w), id, &hit);
	if (!hit)
		classify(w, c, e);
	if (e->cls == ROW_FLOW && (step_building(w, &e->row) || step_exit(w, &e->row)))
		return STEP_MORE;
	if (step_half_built(w))
		return STEP_MORE;
	return step_whole(w);
}
