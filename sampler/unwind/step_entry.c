#include <string.h>

#include "sampler/unwind/step.h"
#include "sampler/unwind/validate.h"
#include "sampler/unwind/walker.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/objects/hs_frozen.h"
#include "symbolizer/hotspot/reader/hs_arch.h"

enum { GAP_WORDS = 512 }; /* limit for the part of a native frame that is searched for return addresses */

int step_call_stub(struct walker *w)
{
	const struct patterns *p = w->patterns;
	uint64_t fp, word[STUB_WORDS_MAX], pc = walker_pc(w);
	const struct code *c = hs_code(w->hs, hs_code_find(w->hs, pc));
	int wrapper = hs_call_wrapper_offset(w->hs) - p->stub_first;

	if (c && !walker_push(w, FRAME_STUB, 0, c->id, (int64_t)(pc - c->begin)))
		return WALK_TOO_DEEP;
	if (!walker_fp(w, &fp) || fp < walker_sp(w) || !walker_on_stack(w, fp))
		return WALK_BAD_FRAME;
	if (!mem_read(w->mem, fp + 8 * (int64_t)p->stub_first, word, 8 * (size_t)p->stub_words))
		return WALK_BAD_MEMORY;
	if (wrapper >= 0 && wrapper < p->stub_words && word[wrapper] % 8 == 0)
		w->wrapper = word[wrapper];
	w->regs.known = 0;
	for (unsigned i = 0; i < p->n_stub_saved; i++)
		regs_set(&w->regs, p->stub_saved[i].reg, word[p->stub_saved[i].word - p->stub_first]);
	regs_set(&w->regs, w->arch->sp, fp + 8 * (int64_t)(p->stub_first + p->stub_words));
	w->exact = false;
	return STEP_MORE;
}

/* The entry that was mounted at the sample, if frozen frames were copied with it; otherwise the present one. */
static uint64_t find_entry(struct walker *w, bool thawed)
{
	const struct hs_thread *t = walker_thread(w);

	if (w->cont_entry)
		return hs_cont_entry_parent(w->hs, w->cont_entry);
	if (thawed)
		return hs_frozen_entry(w->heap, w->heap_len);
	return t ? hs_thread_cont_entry(w->hs, t) : 0;
}

/* The present entry may not be the sample's. It is if there is a frame of enterSpecial. */
static bool is_entry(struct walker *w, uint64_t pc, uint64_t entry)
{
	const struct code *c = hs_code(w->hs, hs_code_find(w->hs, pc));
	uint64_t ra;

	return c && c->frame_size >= 2 && entry >= walker_sp(w) && walker_on_stack(w, entry) &&
	       mem_read_u64(w->mem, entry + 8 * (uint64_t)c->frame_size - 8, &ra) && is_java_return(w, ra);
}

/* The carrier's frames begin below the ContinuationEntry, in the frame of enterSpecial. */
int step_return_barrier(struct walker *w, const struct code *c)
{
	uint64_t pc = hs_cont_entry_return(w->hs), entry;
	bool thawed = !w->exact && !w->cont_entry && walker_pc(w) == hs_cont_return_barrier(w->hs) && step_frozen(w);

	if (w->exact && !walker_push(w, FRAME_STUB, FRAME_PC_EXACT, c->id, (int64_t)(walker_pc(w) - c->begin)))
		return WALK_TOO_DEEP;
	w->frozen |= !thawed;
	w->heap_used |= thawed;
	entry = find_entry(w, thawed);
	/* Nothing else is known about this stack; the virtual thread's own part is complete. */
	if (!pc || !entry || !is_entry(w, pc, entry)) {
		w->frozen = true;
		return WALK_ROOT;
	}
	if (!thawed && w->doubtful_from > w->n)
		w->doubtful_from = w->n;
	w->sp_free = true; /* enterSpecial may begin right here */
	w->cont_entry = entry;
	walker_goto_no_fp(w, pc, entry);
	return STEP_MORE;
}

/* The older Java frame that the last call_stub remembers, otherwise the thread's last Java frame. */
static bool find_anchor(struct walker *w, struct hs_anchor *ret)
{
	if (w->wrapper)
		return hs_wrapper_anchor(w->hs, w->wrapper, ret);
	return hs_thread_anchor(w->hs, &w->thread, ret);
}

/*
 * Native wrappers and stubs of the runtime store a pc of their own before the call: it is not a return address, and
 * has no record (SharedRuntime::generate_native_wrapper, JDK 17 and 25). Their frame is complete there; the step out
 * of it checks that the word above it is a return address.
 */
static bool is_noted_pc(struct walker *w, uint64_t pc)
{
	const struct code *c;

	if (!w->hs || !hs_in_code_cache(w->hs, pc))
		return false;
	c = hs_code(w->hs, hs_code_find(w->hs, pc));
	return c && (c->kind == BLOB_NATIVE || c->kind == BLOB_RUNTIME) && c->frame_size >= 2 && pc > c->begin &&
	       pc < c->end;
}

/*
 * Was the native frame that cannot be left called by the anchor's frame? Yes, if the return address just below the
 * anchor is the first one above sp: then no frame is left out, and only the frame pointer was missing (of a thread
 * that was not stopped, in a library built with frame pointers). Return addresses left by older calls may hide that.
 */
static bool is_caller(struct walker *w, uint64_t anchor_sp)
{
	uint64_t words[GAP_WORDS], sp = walker_sp(w), n = (anchor_sp - sp) / sizeof(words[0]);

	if (!regs_known(&w->regs, w->arch->sp) || anchor_sp <= sp || sp % 8 || anchor_sp % 8 || n > GAP_WORDS ||
	    hs_in_code_cache(w->hs, walker_pc(w)) || !mem_read(w->mem, sp, words, n * sizeof(words[0])))
		return false;
	for (uint64_t i = 0; i + 1 < n; i++)
		if (is_return(w, words[i]))
			return false;
	return is_java_return(w, words[n - 1]);
}

bool step_anchor(struct walker *w)
{
	struct hs_anchor a;

	if (!walker_thread(w) || !find_anchor(w, &a) || a.sp <= w->anchor_sp || !walker_on_stack(w, a.sp))
		return false;
	if (regs_known(&w->regs, w->arch->sp) && a.sp < walker_sp(w))
		return false;
	/* The interpreter and leaf stubs do not store the pc (JDK src/hotspot/cpu/x86/frame_x86.cpp, 17:
	 * JavaFrameAnchor::capture_last_Java_pc()). */
	if (!a.pc && !mem_read_u64(w->mem, a.sp - 8, &a.pc))
		return false;
	if (!is_java_return(w, a.pc) && !is_noted_pc(w, a.pc))
		return false;
	w->anchor_sp = a.sp;
	w->resynchronised |= !is_caller(w, a.sp);
	if (a.fp)
		walker_goto(w, a.pc, a.sp, a.fp);
	else
		walker_goto_no_fp(w, a.pc, a.sp);
	return true;
}
