#include "sampler/unwind/pc_cache.h"
#include "sampler/unwind/step.h"
#include "sampler/unwind/validate.h"
#include "sampler/unwind/walker.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/reader/hs_arch.h"

enum {
	STUB_BUDGET = 6000, /* instructions to the way out of a stub: SHA-256 by AVX2 has 1,100 without a branch out */
	FRAMED_BUDGET = 160, /* to a call or return; all registers may have to be saved or restored */
	SCAN_WORDS = 16,
};

/* Code that jumps to a method's entry: it may have moved arguments, and a register holds the caller's sp. */
static bool takes_sender_sp(const struct code *c)
{
	return c->kind == BLOB_ADAPTER || c->role == STUB_METHOD_HANDLES;
}

/*
 * A jump to a method's entry with the return address on top of the stack. If arguments lie above it, that register
 * holds the caller's sp, unless it was needed for moving them (i2c; its caller is interpreted and needs no exact sp).
 */
static bool step_method(struct walker *w, struct flow_row *tail)
{
	const struct flow_val sp[] = {
		tail->sender_sp,
		{FLOW_REG, hs_interp_layout(w->hs)->sender_sp_reg, 0, 0, 0},
		{FLOW_REG, (uint8_t)w->arch->sp, 8, 0, 0},
	};

	for (unsigned i = 0; i < sizeof(sp) / sizeof(sp[0]); i++) {
		tail->sp = sp[i];
		if (step_by_row(w, tail))
			return true;
	}
	return false;
}

/* A jump out with the return address on top of the stack, at the entry of the next method. */
static bool step_tail(struct walker *w, const struct code *c, const struct flow_row *row)
{
	struct flow_row tail = *row;

	if (takes_sender_sp(c) && row->end != FLOW_TAIL)
		return step_method(w, &tail);
	if (tail.end == FLOW_JUMP_REG)
		tail.sp.off += 8; /* nothing was popped */
	return step_by_row(w, &tail);
}

/* The return address, which was just popped, is in a register when exception handlers are jumped to. */
static bool has_return_in_reg(const struct code *c, const struct flow_row *row)
{
	const struct flow_val *at = &row->thrown_at;

	if (at->kind == FLOW_REG || c->kind == BLOB_EXCEPTION)
		return true;
	return at->kind == FLOW_MEM && row->sp.kind == FLOW_REG && at->base == row->sp.base &&
	       at->off == row->sp.off - 8;
}

/* Call resolution ends in a jump to the method, where that register holds an argument. */
static bool enters_method(struct walker *w, const struct flow_row *row)
{
	const struct code *c;
	uint64_t to;

	if (!flow_eval(&row->target, &w->regs, w->mem, &to) || !hs_in_code_cache(w->hs, to))
		return false;
	c = hs_code(w->hs, hs_code_find(w->hs, to));
	if (!c || c->kind == BLOB_ADAPTER)
		return c != NULL;
	return (c->kind == BLOB_NMETHOD || c->kind == BLOB_NATIVE || c->kind == BLOB_MH_INTRINSIC) &&
	       to - c->begin <= c->verified_entry;
}

/* A jump through a register: back to the caller, or to its exception handler, or to a method. */
static bool step_jump(struct walker *w, const struct code *c, const struct flow_row *row)
{
	struct flow_row back = *row;

	if (takes_sender_sp(c) || enters_method(w, row))
		return step_tail(w, c, row);
	back.ra = row->target;
	/* C1's stub that jumps to a handler in the method, or to the code that unwinds the method's own
	 * frame, which is in no table (Runtime1::generate_handle_exception(), c1_Runtime1_x86.cpp). */
	if (c->role == STUB_HANDLE_EXCEPTION)
		back.end = FLOW_RETURN;
	if (step_by_row(w, &back))
		return true;
	back.ra = row->thrown_at;
	return (has_return_in_reg(c, row) && step_by_row(w, &back)) || step_tail(w, c, row);
}

static bool step_flow(struct walker *w, const struct code *c, const struct flow_row *row)
{
	switch (row->end) {
	case FLOW_RETURN:
	case FLOW_LIMIT: return step_by_row(w, row);
	case FLOW_JUMP_REG: return step_jump(w, c, row);
	case FLOW_TAIL:
	case FLOW_TAIL_MEM: return step_tail(w, c, row);
	default: return false;
	}
}

/* The first word further up that is a return address into compiled code. */
static bool step_scan(struct walker *w)
{
	uint64_t sp = walker_sp(w), fp = w->regs.r[w->arch->fp], words[SCAN_WORDS];
	size_t n = mem_read_some(w->mem, sp, words, sizeof(words)) / 8;

	for (size_t i = 0; i < n; i++) {
		if (!is_java_return(w, words[i]) || hs_in_interpreter(w->hs, words[i]))
			continue;
		walker_goto(w, words[i], sp + 8 * (i + 1), fp);
		return true;
	}
	return false;
}

struct known_rows {
	const struct pc_cache *rows;
	uint32_t code_id;
};

static const struct flow_row *row_of(void *known, uint64_t pc)
{
	const struct known_rows *k = known;
	const struct pc_entry *e = pc_cache_find(k->rows, pc, k->code_id);

	return e ? &e->row : NULL;
}

/* A stub of any shape. Those of digests and ciphers are long, so a way ends at a pc that was met before. */
static void classify_free(struct walker *w, const struct code *c, struct pc_entry *e)
{
	struct flow_options o = step_flow_options(w, c, STUB_BUDGET);
	struct known_rows known = {w->rows, c->id};

	e->row.end = FLOW_NONE;
	if (c->frame_size < 2) {
		o.row_of = row_of;
		o.known = &known;
	}
	flow_follow(w->flow, &o, e->pc, &e->row);
}

/* The way to the end of a blob with a frame of known size; or how much of the frame is still
 * missing at its next call, where it will be complete. */
static void classify_framed(struct walker *w, const struct code *c, struct pc_entry *e)
{
	struct flow_options o = step_flow_options(w, c, FRAMED_BUDGET);

	o.straight = true;
	o.rebuilds = c->kind == BLOB_DEOPT;
	flow_follow(w->flow, &o, e->pc, &e->row);
	if (e->row.end != FLOW_NONE)
		return;
	o.rebuilds = false;
	o.limit_call = true;
	o.limit_words = c->frame_size;
	flow_follow(w->flow, &o, e->pc, &e->row);
	if (e->row.end == FLOW_NONE)
		classify_free(w, c, e);
}

static bool is_itable(struct walker *w, const struct code *c, uint64_t pc)
{
	struct flow_options o = step_flow_options(w, c, 0);

	return c->kind == BLOB_VTABLE && flow_is_itable(&o, pc);
}

static const struct pc_entry *find_entry(struct walker *w, const struct code *c)
{
	bool hit;
	struct pc_entry *e = pc_cache_get(w->rows, walker_pc(w), c->id, &hit);

	if (hit)
		return e;
	e->cls = is_itable(w, c, e->pc) ? ROW_ITABLE : ROW_FLOW;
	if (c->frame_size >= 2)
		classify_framed(w, c, e);
	else
		classify_free(w, c, e);
	return e;
}

/* The complete frame has one size at calls, perhaps with a word of alignment. */
static bool step_whole(struct walker *w, const struct code *c)
{
	uint64_t sp = walker_sp(w);

	return step_by_size(w, c, sp, true) || step_by_size(w, c, sp + 8, true);
}

static bool leave_stub(struct walker *w, const struct code *c)
{
	if (c->kind == BLOB_VTABLE && step_top(w))
		return true;
	if (!w->exact && step_whole(w, c))
		return true;
	if (step_flow(w, c, &find_entry(w, c)->row))
		return true;
	/* Deoptimisation removes its own frame first. */
	if (c->kind == BLOB_DEOPT && step_top(w))
		return true;
	/* Most stubs with a frame save and set the frame pointer (JDK src/hotspot/cpu/x86/stubGenerator_x86_64.cpp, 17:
	 * enter()). */
	return step_whole(w, c) || step_top(w) || step_frame_pointer(w) == STEP_MORE || step_scan(w);
}

int step_stub(struct walker *w, const struct code *c)
{
	unsigned flags = walker_exact_flag(w);

	if (c->kind == BLOB_VTABLE && find_entry(w, c)->cls == ROW_ITABLE)
		flags |= FRAME_ITABLE;
	if (!walker_push(w, FRAME_STUB, flags, c->id, (int64_t)(walker_pc(w) - c->begin)))
		return WALK_TOO_DEEP;
	if (leave_stub(w, c))
		return STEP_MORE;
	return c->kind == BLOB_DEOPT ? WALK_DEOPT : WALK_BAD_FRAME;
}
