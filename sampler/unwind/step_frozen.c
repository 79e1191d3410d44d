#include "symbolizer/hotspot/objects/hs_frozen.h"

#include <string.h>

#include "sampler/unwind/step.h"
#include "sampler/unwind/validate.h"
#include "sampler/unwind/walker.h"
#include "symbolizer/base/sorted.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/hotspot/methods/callee.h"
#include "symbolizer/hotspot/methods/method.h"
#include "symbolizer/hotspot/reader/hs_arch.h"

/*
 * Frames in a stack chunk look as they do on a stack, except that addresses in interpreted frames are distances in
 * words from the slot that holds them (JDK 21 on: runtime/stackChunkFrameStream.inline.hpp,
 * cpu/x86/continuationFreezeThaw_x86.inline.hpp). All frames must make sense, down to the first one of the
 * continuation: no frames are better than wrong ones.
 */
struct chunk_walk {
	struct walker *w;
	const struct hs_chunk *c;
	int64_t sp; /* of the frame to be pushed */
	int64_t own_sp; /* the same without arguments that an adapter pushed (unextended_sp) */
	uint32_t method; /* of the last frame pushed */
};

static bool is_first_frame(const struct walker *w, uint32_t method)
{
	const struct hs_method *m = hs_method(w->hs, method);

	return m && !strcmp(m->name, "enter") && !strcmp(m->class_name, "jdk/internal/vm/Continuation");
}

/* While frames are being frozen, those on the stack may be in the heap as well. */
static bool is_freezing(const struct walker *w)
{
	for (uint32_t i = 0; i < w->n; i++) {
		const struct code *c = w->frames[i].kind == FRAME_COMPILED ? hs_code(w->hs, w->frames[i].id) : NULL;

		if (c && (c->role == STUB_DO_YIELD || c->role == STUB_ENTER_SPECIAL))
			return true;
	}
	return false;
}

static bool word(const struct chunk_walk *k, int64_t index, uint64_t *ret)
{
	return hs_chunk_word(k->c, index, ret);
}

/* An index that is stored as the distance from another. */
static bool relative(const struct chunk_walk *k, int64_t index, int64_t from, int64_t *ret)
{
	uint64_t distance;

	if (!word(k, index, &distance))
		return false;
	*ret = (int64_t)((uint64_t)from + distance);
	return *ret > k->c->sp && *ret <= k->c->size;
}

static bool push_interpreted(struct chunk_walk *k)
{
	const struct hs_interp_layout *l = hs_interp_layout(k->w->hs);
	const struct hs_method *m;
	int64_t fp, locals, bci;
	uint64_t method, bcp;

	if (!relative(k, k->sp - 2, k->sp - 2, &fp) || fp <= k->sp || !word(k, fp + l->method, &method) ||
	    !word(k, fp + l->bcp, &bcp) || !relative(k, fp + l->sender_sp, fp, &k->own_sp) ||
	    !relative(k, fp + l->locals, fp, &locals) || locals <= fp || k->own_sp < fp + 2)
		return false;
	k->method = hs_method_find(k->w->hs, method);
	m = hs_method(k->w->hs, k->method);
	bci = m ? hs_method_bci(m, bcp) : -1;
	if (bci < 0 || !walker_push(k->w, FRAME_INTERPRETED, 0, k->method, bci))
		return false;
	/* The chunk's frames end with the locals of the last one. */
	k->sp = locals + 1 >= k->c->bottom ? k->c->bottom : fp + 2;
	return true;
}

static bool push_compiled(struct chunk_walk *k, uint64_t pc)
{
	const struct code *c = hs_code(k->w->hs, hs_code_find(k->w->hs, pc));
	unsigned flags = 0;

	if (!c || c->kind != BLOB_NMETHOD || c->gone || c->frame_size < 2)
		return false;
	if (is_deopt_handler(c, pc)) {
		flags = FRAME_DEOPTED;
		if (c->orig_pc_offset < 0 || !word(k, k->own_sp + c->orig_pc_offset / 8, &pc))
			return false;
		hs_code_read_frame(k->w->hs, c->id, pc);
	}
	if (pc <= c->begin || pc > c->end || !is_recorded(k->w, c, pc) ||
	    !walker_push(k->w, FRAME_COMPILED, flags, c->id, (int64_t)(pc - c->begin)))
		return false;
	k->method = c->method_id;
	k->sp = k->own_sp += c->frame_size;
	/* Beyond the last frame lie its arguments, on the carrier's side of the entry. */
	if (k->sp >= k->c->bottom - 2 && k->sp <= k->c->bottom)
		k->sp = k->c->bottom;
	return true;
}

/* Where in its source a frame is calling. 0: unknown. */
static struct code_scope caller_of(const struct walker *w, const struct frame_key *f)
{
	struct code_scope innermost = {f->id, (int32_t)f->off};
	const struct code *c;
	size_t after;

	if (f->kind == FRAME_INTERPRETED)
		return innermost;
	c = hs_code(w->hs, f->id);
	after = c ? first_above(c->records, c->n_records, pc_offset, f->off) : 0;
	if (!after ||
	    !code_scopes_at(c, hotspot_version(w->hs)->major, c->records[after - 1].scope_offset, &innermost, 1))
		innermost.method_id = 0;
	return innermost;
}

static uint32_t method_of(const struct walker *w, const struct frame_key *f)
{
	const struct code *c = f->kind == FRAME_COMPILED ? hs_code(w->hs, f->id) : NULL;

	return f->kind == FRAME_INTERPRETED ? f->id : c ? c->method_id : 0;
}

/*
 * Frames of another moment make sense, too: those of a thread that has parked again, say, which end in a call of doYield.
 * So where chunks begin, the caller must call the callee, as far as its bytecode says which method it calls.
 */
static bool is_call(const struct walker *w, const struct frame_key *caller, const struct frame_key *callee)
{
	const struct code_scope at = caller_of(w, caller);
	uint32_t called = at.method_id ? hs_callee_at(w->hs, at.method_id, at.bci) : 0, method = method_of(w, callee);
	const struct hs_method *m = hs_method(w->hs, called);

	/* Method handles' linkers jump to the method. */
	return !m || !method || called == method || !strcmp(m->class_name, "java/lang/invoke/MethodHandle");
}

static bool push_chunk(struct chunk_walk *k)
{
	uint32_t first = k->w->n;

	k->sp = k->own_sp = k->c->sp;
	while (k->sp < k->c->bottom) {
		int64_t sp = k->sp;
		uint64_t pc;

		if (!word(k, sp - 1, &pc) || !hs_in_code_cache(k->w->hs, pc))
			return false;
		if (!(hs_in_interpreter(k->w->hs, pc) ? push_interpreted(k) : push_compiled(k, pc)) || k->sp <= sp)
			return false;
		if (sp == k->c->sp && !is_call(k->w, &k->w->frames[first], &k->w->frames[first - 1]))
			return false;
	}
	return k->sp == k->c->bottom;
}

bool step_frozen(struct walker *w)
{
	struct chunk_walk k = {.w = w};
	struct hs_chunk c;
	uint32_t n = w->n;
	size_t at = 0;
	bool ok = w->n && w->heap_len && !is_freezing(w);

	k.c = &c;
	while (ok && hs_frozen_next(w->heap, w->heap_len, &at, &c))
		ok = push_chunk(&k);
	if (ok && at == w->heap_len && is_first_frame(w, k.method))
		return true;
	w->n = n;
	return false;
}
