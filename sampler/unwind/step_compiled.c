#include "sampler/unwind/pc_cache.h"
#include "sampler/unwind/step.h"
#include "sampler/unwind/validate.h"
#include "sampler/unwind/walker.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/objects/hs_virtual.h"

enum {
	EPILOGUE_BUDGET = 24, /* instructions from `add rsp` to `ret`, with polls and stack checks */
	PROLOGUE_BUDGET = 64,
	BODY_BUDGET = 1000,
	OSR_PROLOGUE = 64, /* bytes */
	MAX_PUSHED = 6, /* words pushed around leaf calls in slow paths */
};

static uint32_t frame_bytes(const struct code *c)
{
	return (uint32_t)c->frame_size * 8 - 8;
}

/*
 * The frame pointer may be saved after the place that HotSpot calls frame complete (verified_entry() in JDK
 * src/hotspot/cpu/x86/macroAssembler_x86.cpp, 17, and c2_MacroAssembler_x86.cpp, 21). Returns the length of that
 * instruction, or 0.
 */
static uint32_t saves_fp_at(struct walker *w, const struct code *c, uint64_t pc)
{
	uint8_t b[8] = {0};
	uint32_t n = hs_code_bytes(w->hs, pc, b, sizeof(b));

	return w->patterns->saves_fp(b, n, frame_bytes(c));
}

/* Before `limit`, where the frame is complete: finds what is still missing. */
static bool follow_to_limit(struct walker *w, const struct code *c, uint64_t limit, struct pc_entry *e)
{
	struct flow_options o = step_flow_options(w, c, PROLOGUE_BUDGET);

	limit += saves_fp_at(w, c, limit);
	if (e->pc >= limit)
		return false;
	o.limit_pc = limit;
	o.limit_call = true; /* the call of the entry barrier */
	o.limit_words = c->frame_size;
	o.straight = true;
	flow_follow(w->flow, &o, e->pc, &e->row);
	e->cls = ROW_FLOW;
	return e->row.end == FLOW_LIMIT;
}

/* End of the prologue that begins at `start`. 0: none. */
static uint64_t find_prologue_end(struct walker *w, const struct code *c, uint64_t start)
{
	uint8_t b[OSR_PROLOGUE];
	uint32_t n = hs_code_bytes(w->hs, start, b, sizeof(b)), end = w->patterns->frame_made(b, n, frame_bytes(c));

	return end ? start + end : 0;
}

static bool classify_prologue(struct walker *w, const struct code *c, struct pc_entry *e)
{
	uint64_t off = e->pc - c->begin, end;

	if (off <= c->verified_entry) {
		e->cls = ROW_RETURN_ON_TOP;
		return true;
	}
	if (c->frame_complete > 0 && off <= (uint64_t)c->frame_complete &&
	    follow_to_limit(w, c, c->begin + (uint64_t)c->frame_complete, e))
		return true;
	if (c->osr_entry < 0 || off < (uint64_t)c->osr_entry || off >= (uint64_t)c->osr_entry + OSR_PROLOGUE)
		return false;
	end = find_prologue_end(w, c, c->begin + (uint64_t)c->osr_entry);
	return end && follow_to_limit(w, c, end, e);
}

static bool classify_epilogue(struct walker *w, const struct code *c, struct pc_entry *e)
{
	struct flow_options o = step_flow_options(w, c, EPILOGUE_BUDGET);

	o.no_calls = true;
	flow_follow(w->flow, &o, e->pc, &e->row);
	e->cls = ROW_FLOW;
	return e->row.end == FLOW_RETURN || e->row.end == FLOW_TAIL;
}

/* In the stub section: exception and deoptimisation handlers, stubs of static calls. */
static bool in_stubs(const struct code *c, uint64_t pc)
{
	return c->stub_begin > 0 && pc - c->begin >= (uint64_t)c->stub_begin;
}

/* Determined once per method, from the place where its frame is complete to its stubs. */
static bool moves_sp(struct walker *w, const struct code *c)
{
	uint8_t *known = pc_cache_moves_sp(w->rows, c->id);
	struct flow_options o = step_flow_options(w, c, 0);
	uint64_t from = c->begin, to = c->end;

	if (*known)
		return *known == 2;
	if (c->verified_entry < to - from)
		from += c->verified_entry;
	if (c->stub_begin > 0 && (uint64_t)c->stub_begin < to - c->begin)
		to = c->begin + (uint64_t)c->stub_begin;
	if (c->frame_complete > 0 && (uint64_t)c->frame_complete < to - c->begin)
		from = c->begin + (uint64_t)c->frame_complete;
	*known = flow_moves_sp(&o, from, to, c->frame_size) ? 2 : 1;
	return *known == 2;
}

static bool is_call_recorded(void *ctx, uint64_t pc)
{
	struct walker *w = ctx;
	uint32_t id = hs_code_find(w->hs, pc);
	const struct code *c = hs_code(w->hs, id);

	return c && c->kind == BLOB_NMETHOD && is_recorded(w, c, pc);
}

/*
 * In a body that pushes, the instructions up to the return, or to a call with a record, show where the stack pointer
 * is. Not in native wrappers: Continuation.doYield returns to another frame's caller.
 */
static void classify_body(struct walker *w, const struct code *c, struct pc_entry *e)
{
	struct flow_options o = step_flow_options(w, c, BODY_BUDGET);
	bool shifted = in_stubs(c, e->pc) || c->kind == BLOB_NATIVE;

	e->cls = shifted ? ROW_SHIFTED : ROW_COMPLETE;
	if (shifted || !moves_sp(w, c))
		return;
	o.whole = is_call_recorded;
	o.limit_words = c->frame_size;
	flow_follow(w->flow, &o, e->pc, &e->row);
	e->cls = e->row.end == FLOW_RETURN || e->row.end == FLOW_LIMIT ? ROW_FLOW : ROW_SHIFTED;
}

/* Code without a frame, which ends in a jump to a method; a collector's barrier may save registers on the stack. */
static void classify_frameless(struct walker *w, const struct code *c, struct pc_entry *e)
{
	struct flow_options o = step_flow_options(w, c, BODY_BUDGET);

	flow_follow(w->flow, &o, e->pc, &e->row);
	e->cls = e->row.end == FLOW_NONE ? ROW_RETURN_ON_TOP : ROW_FLOW;
	if (e->row.end != FLOW_JUMP_REG)
		return;
	e->row.end = FLOW_TAIL;
	e->row.sp.off += 8;
}

static void classify(struct walker *w, const struct code *c, struct pc_entry *e)
{
	if (c->kind == BLOB_MH_INTRINSIC || c->frame_size < 2)
		classify_frameless(w, c, e);
	else if (!classify_prologue(w, c, e) && !classify_epilogue(w, c, e))
		classify_body(w, c, e);
}

static bool is_static_call_at(struct walker *w, uint64_t pc)
{
	uint8_t b[2];

	return w->patterns->is_static_call(b, hs_code_bytes(w->hs, pc, b, sizeof(b)));
}

/*
 * If the target of a static call is interpreted, the call goes through a stub after the method's own code: then [sp]
 * is a return address in the method, and the frame above it is the method's.
 */
static bool step_static_call(struct walker *w, const struct code *c)
{
	uint64_t pc = walker_pc(w), ra;

	if (!in_stubs(c, pc) ||
	    !(is_static_call_at(w, pc) || is_static_call_at(w, pc - w->patterns->static_call_jump)) ||
	    !mem_read_u64(w->mem, walker_sp(w), &ra) || ra <= c->begin || ra >= c->end)
		return false;
	return is_recorded(w, c, ra) && step_top(w);
}

/* Some slow paths push a few words around a leaf call. */
static bool step_shifted(struct walker *w, const struct code *c)
{
	for (uint64_t i = 0; i <= MAX_PUSHED; i++)
		if (step_by_size(w, c, walker_sp(w) + 8 * i, true))
			return true;
	return false;
}

/* By what is known about the pc, and nothing else: no caller is better than a wrong one. */
static bool step_classified(struct walker *w, const struct code *c)
{
	bool hit;
	struct pc_entry *e = pc_cache_get(w->rows, walker_pc(w), c->id, &hit);

	if (!hit)
		classify(w, c, e);
	switch (e->cls) {
	case ROW_RETURN_ON_TOP: return step_top(w);
	case ROW_FLOW: return step_by_row(w, &e->row);
	case ROW_SHIFTED: return step_shifted(w, c);
	default: return step_by_size(w, c, walker_sp(w), true);
	}
}

static int step_leaf(struct walker *w, const struct code *c)
{
	if (step_static_call(w, c)) {
		walker_pop(w);
		return STEP_MORE;
	}
	return step_classified(w, c) ? STEP_MORE : WALK_BAD_FRAME;
}

/* At calls without a record: leaf calls, around which slow paths of barriers save registers on the
 * stack; and some calls in native wrappers, which align it. */
static bool step_leaf_call(struct walker *w, const struct code *c)
{
	if (c->kind != BLOB_NMETHOD && step_by_size(w, c, walker_sp(w), true))
		return true;
	return step_classified(w, c);
}

/*
 * The pc that the deoptimisation handler has replaced (JDK src/hotspot/share/runtime/frame.cpp, 17:
 * frame::deoptimize()); unchanged if that is not known.
 */
static uint64_t find_original_pc(struct walker *w, const struct code *c)
{
	uint64_t pc = walker_pc(w), orig;

	if (c->orig_pc_offset < 0 || !mem_read_u64(w->mem, walker_sp(w) + (uint64_t)c->orig_pc_offset, &orig))
		return pc;
	return orig >= c->begin && orig < c->end ? orig : pc;
}

/* Other code may be there now, so its bytes are useless: leaves by the size of the frame, or as if there were none. */
static int step_gone(struct walker *w, const struct code *c)
{
	if (step_by_size(w, c, walker_sp(w), true) || (w->exact && step_top(w)))
		return STEP_MORE;
	return WALK_NO_BLOB;
}

/* The frame of enterSpecial begins with the ContinuationEntry. No thread is better than one from another moment. */
static void note_continuation(struct walker *w, const struct code *c)
{
	if (c->role != STUB_ENTER_SPECIAL || w->continuation || w->exact || w->doubtful_from != UINT32_MAX)
		return;
	if (!mem_read_u64(w->mem, walker_sp(w) + HS_ENTRY_CONTINUATION, &w->continuation))
		w->continuation = 0;
}

int step_compiled(struct walker *w, const struct code *c)
{
	uint64_t pc = walker_pc(w);
	unsigned flags = walker_exact_flag(w);

	note_continuation(w, c);
	if (!w->exact && is_deopt_handler(c, pc)) {
		flags |= FRAME_DEOPTED;
		pc = find_original_pc(w, c);
		hs_code_read_frame(w->hs, c->id, pc);
	}
	if (!walker_push(w, FRAME_COMPILED, flags, c->id, (int64_t)(pc - c->begin)))
		return WALK_TOO_DEEP;
	if (c->gone)
		return step_gone(w, c);
	if (w->exact)
		return step_leaf(w, c);
	if ((flags & FRAME_DEOPTED || is_recorded(w, c, walker_pc(w))) && step_by_size(w, c, walker_sp(w), false))
		return STEP_MORE;
	return step_leaf_call(w, c) ? STEP_MORE : WALK_BAD_FRAME;
}
