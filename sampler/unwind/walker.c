#include "sampler/unwind/walker.h"

bool walker_push(struct walker *w, enum frame_kind kind, unsigned flags, uint32_t id, int64_t off)
{
	if (w->n == WALK_MAX_FRAMES)
		return false;
	w->frames[w->n++] = (struct frame_key){.kind = (uint8_t)kind, .flags = (uint8_t)flags, .id = id, .off = off};
	w->java |= kind == FRAME_INTERPRETED || kind == FRAME_COMPILED;
	return true;
}

void walker_pop(struct walker *w)
{
	if (w->n)
		w->n--;
}

void walker_goto_no_fp(struct walker *w, uint64_t pc, uint64_t sp)
{
	w->regs.known = 0;
	regs_set(&w->regs, w->arch->pc, pc);
	regs_set(&w->regs, w->arch->sp, sp);
	w->exact = false;
}

void walker_goto(struct walker *w, uint64_t pc, uint64_t sp, uint64_t fp)
{
	walker_goto_no_fp(w, pc, sp);
	regs_set(&w->regs, w->arch->fp, fp);
}

const struct hs_thread *walker_thread(struct walker *w)
{
	if (!w->thread_asked) {
		const struct hs_thread *t = w->hs && w->ns_tid > 0 ? hs_thread_find(w->hs, w->ns_tid) : NULL;

		w->thread_asked = true;
		w->has_thread = t != NULL;
		if (t)
			w->thread = *t;
	}
	return w->has_thread ? &w->thread : NULL;
}

bool walker_on_stack(const struct walker *w, uint64_t sp)
{
	const struct hs_thread *t = &w->thread;

	if (sp % 8 || !sp || sp >= w->arch->user_limit)
		return false;
	if (!w->has_thread || !t->stack_base)
		return true;
	return sp < t->stack_base && sp >= t->stack_base - t->stack_size;
}
