#include <string.h>

#include "sampler/unwind/pc_cache.h"
#include "sampler/unwind/step.h"
#include "sampler/unwind/validate.h"
#include "sampler/unwind/walker.h"
#include "symbolizer/hotspot/code.h"
#include "symbolizer/hotspot/hs_arch.h"

enum { STUB_BUDGET = 600, SCAN_WORDS = 16 };

static const struct flow_row *find_row(struct walker *w, const struct code *c)
{
	struct flow_options o = {
		.fetch = step_fetch,
		.ctx = w->hs,
		.lo = c->begin,
		.hi = c->end,
		.budget = STUB_BUDGET,
	};
	struct pc_entry *e;
	bool hit;

	e = pc_cache_get(w->rows, walker_pc(w), c->id, &hit);
	if (!hit) {
		flow_follow(w->flow, &o, walker_pc(w), &e->row);
		e->cls = ROW_FLOW;
	}
	return &e->row;
}

/* Code that jumps to a method's entry: arguments may have been moved, r13 holds the caller's sp. */
static bool takes_sender_sp(const struct code *c)
{
	return c->kind == BLOB_ADAPTER
	       || (c->kind == BLOB_BUFFER && c->name && strstr(c->name, "MethodHandles"));
}

/* A jump out with the return address on top of the stack, at the entry of the next method. */
static bool step_tail(struct walker *w, const struct code *c, const struct flow_row *row)
{
	struct flow_row tail = *row;
	uint64_t sp, sender;

	if (tail.end == FLOW_JUMP_REG)
		tail.sp.off += 8; /* nothing was popped */
	if (takes_sender_sp(c) && flow_eval(&row->r13, &w->regs, w->mem, &sender)
		&& flow_eval(&tail.sp, &w->regs, w->mem, &sp) && sender >= walker_sp(w)
		&& walker_on_stack(w, sender))
		tail.sp = row->r13;
	return step_by_row(w, &tail);
}

/* A jump through a register: back to the caller, or to its exception handler, which gets the
 * return address in rdx; else to another method. */
static bool step_jump(struct walker *w, const struct code *c, const struct flow_row *row)
{
	struct flow_row back = *row;

	if (takes_sender_sp(c))
		return step_tail(w, c, row);
	back.ra = row->target;
	if (step_by_row(w, &back))
		return true;
	back.ra = row->rdx;
	return step_by_row(w, &back) || step_tail(w, c, row);
}

static bool step_flow(struct walker *w, const struct code *c)
{
	const struct flow_row *row = find_row(w, c);

	switch (row->end) {
	case FLOW_RETURN:
		return step_by_row(w, row);
	case FLOW_JUMP_REG:
		return step_jump(w, c, row);
	case FLOW_TAIL:
	case FLOW_TAIL_MEM:
		return step_tail(w, c, row);
	default:
		return false;
	}
}

/* Most stubs with a frame begin with push rbp; mov rbp, rsp (hotspot.md 6.9). */
static bool step_frame(struct walker *w)
{
	uint64_t fp = w->regs.r[X86_RBP], words[2];

	if (!regs_known(&w->regs, X86_RBP) || fp < walker_sp(w) || !walker_on_stack(w, fp)
		|| !mem_read(w->mem, fp, words, sizeof(words)) || !is_return(w, words[1]))
		return false;
	walker_goto(w, words[1], fp + 16, words[0]);
	return true;
}

/* The first word further up that is a return address into compiled code. */
static bool step_scan(struct walker *w)
{
	uint64_t sp = walker_sp(w), fp = w->regs.r[X86_RBP], words[SCAN_WORDS];
	size_t n = mem_read_some(w->mem, sp, words, sizeof(words)) / 8;

	for (size_t i = 0; i < n; i++) {
		if (!is_java_return(w, words[i]) || hs_in_interpreter(w->hs, words[i]))
			continue;
		walker_goto(w, words[i], sp + 8 * (i + 1), fp);
		return true;
	}
	return false;
}

static bool leave_stub(struct walker *w, const struct code *c)
{
	bool whole = c->frame_size >= 2;

	if (c->kind == BLOB_VTABLE && step_top(w))
		return true;
	if (whole && !w->exact && step_by_size(w, c, walker_sp(w), true))
		return true;
	return step_flow(w, c) || (whole && step_by_size(w, c, walker_sp(w), true))
	       || step_top(w) || step_frame(w) || step_scan(w);
}

int step_stub(struct walker *w, const struct code *c)
{
	if (!walker_push(w, FRAME_STUB, walker_exact_flag(w), c->id,
		    (int64_t)(walker_pc(w) - c->begin)))
		return WALK_TOO_DEEP;
	return leave_stub(w, c) ? STEP_MORE : WALK_BAD_FRAME;
}
