#include "sampler/unwind/unwinder.h"

#include <stdlib.h>

#include "sampler/unwind/flow.h"
#include "sampler/unwind/pc_cache.h"
#include "sampler/unwind/step.h"
#include "sampler/unwind/walker.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/hotspot/code/code.h"
#include "symbolizer/hotspot/hotspot.h"
#include "symbolizer/native/modules/modmap.h"

struct unwinder_room {
	struct flow *flow;
	struct pc_cache *rows;
	struct frame_key *frames;
};

struct unwinder {
	struct walker w; /* frames, caches and borrowed parts are kept; the rest is set for each walk */
	struct unwinder_room *own; /* NULL: it is shared */
	uint32_t jvm; /* its number in the pc_cache */
	struct mem *mem;
	struct unwinder_options options;
	uint64_t now_ns; /* read once for a batch of samples; not later than now */
};

/* A walk that was misled by stale code ends early, and the next one may meet more of it. */
enum { MAX_WALKS = 6 };

/* Pages below this are never mapped (vm.mmap_min_addr). */
enum { LOWEST_PC = 4096 };

struct unwinder_room *unwinder_room_new(void)
{
	struct unwinder_room *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->flow = flow_new();
	r->rows = pc_cache_new();
	/* Pages take memory only when a walk is deep enough. */
	r->frames = malloc(WALK_MAX_FRAMES * sizeof(*r->frames));
	if (r->flow && r->rows && r->frames)
		return r;
	unwinder_room_free(r);
	return NULL;
}

void unwinder_room_free(struct unwinder_room *r)
{
	if (!r)
		return;
	flow_free(r->flow);
	pc_cache_free(r->rows);
	free(r->frames);
	free(r);
}

static void use_room(struct unwinder *u, struct unwinder_room *r)
{
	u->w.flow = r->flow;
	u->w.rows = r->rows;
	u->w.frames = r->frames;
	u->jvm = pc_cache_join(r->rows);
}

void unwinder_share(struct unwinder *u, struct unwinder_room *room)
{
	unwinder_room_free(take_ptr(u->own));
	use_room(u, room);
}

struct unwinder *unwinder_new(struct modmap *maps, struct hotspot *hs, struct mem *mem, struct unwinder_options options)
{
	struct unwinder *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->mem = mem;
	u->options = options;
	u->w.maps = maps;
	u->w.hs = hs;
	u->w.arch = options.arch ? options.arch : arch_host();
	u->w.patterns = options.arch ? options.patterns : patterns_host();
	u->own = unwinder_room_new();
	if (!u->own) {
		free(u);
		return NULL;
	}
	use_room(u, u->own);
	return u;
}

void unwinder_set_hotspot(struct unwinder *u, struct hotspot *hs)
{
	u->w.hs = hs;
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	unwinder_room_free(u->own);
	free(u);
}

static bool is_barrier(const struct walker *w, const struct code *c)
{
	uint64_t barrier = hs_cont_return_barrier(w->hs), pc = walker_pc(w);

	/* While thawing, too: outer frames are being copied back to the stack. */
	return c->kind == BLOB_STUBS && ((barrier && pc == barrier) || c->role == STUB_CONTINUATION);
}

int step_java(struct walker *w)
{
	const struct code *c;
	uint64_t pc = walker_pc(w);

	if (hs_in_interpreter(w->hs, pc))
		return step_interp(w);
	if (!w->exact && pc == hs_call_stub_return(w->hs))
		return step_call_stub(w);
	c = hs_code(w->hs, hs_code_find(w->hs, pc));
	if (!c)
		return WALK_NO_BLOB;
	switch (c->kind) {
	case BLOB_NMETHOD:
	case BLOB_NATIVE:
	case BLOB_MH_INTRINSIC: return step_compiled(w, c);
	default: return is_barrier(w, c) ? step_return_barrier(w, c) : step_stub(w, c);
	}
}

static int step_once(struct walker *w)
{
	uint64_t pc = walker_pc(w);

	if (pc < LOWEST_PC || pc >= w->arch->user_limit)
		return WALK_BAD_PC;
	return w->hs && hs_in_code_cache(w->hs, pc) ? step_java(w) : step_native(w);
}

/* Each caller's stack pointer is further out. The only exceptions are leaf frames that are left by a jump, and
 * signals with a stack of their own. */
static bool moved(const struct walker *w, uint64_t old_sp, bool was_exact)
{
	uint64_t sp = walker_sp(w);

	return w->sp_free || sp > old_sp || (was_exact && sp == old_sp);
}

static int walk_frames(struct walker *w)
{
	int r = STEP_MORE;

	while (r == STEP_MORE) {
		uint64_t sp = walker_sp(w);
		bool exact = w->exact;

		w->sp_free = false;
		r = step_once(w);
		if (r == STEP_MORE && !moved(w, sp, exact))
			r = WALK_NO_PROGRESS;
		if (r > WALK_ROOT && w->doubtful_from <= w->n) {
			/* That entry was from another moment: only the virtual thread's own part is kept. */
			w->n = w->doubtful_from;
			return WALK_ROOT;
		}
		if (r > WALK_ROOT && r != WALK_TOO_DEEP && step_anchor(w))
			r = STEP_MORE;
	}
	return r;
}

static int walk_kernel(struct walker *w, const struct raw_sample *s)
{
	for (size_t i = 0; i < s->n_kernel; i++)
		if (!walker_push(w, FRAME_KERNEL, i ? 0 : FRAME_PC_EXACT, 0, (int64_t)s->kernel[i]))
			return WALK_TOO_DEEP;
	return STEP_MORE;
}

/* In the kernel, with registers of a program whose memory is gone: execve() has not set up the new ones yet. */
static bool is_in_execve(const struct unwinder *u, const struct raw_sample *s)
{
	uint64_t pc = s->regs.r[u->w.arch->pc];

	return s->n_kernel && !s->stack_len && u->w.n == (u->options.kernel ? s->n_kernel : 0) &&
	       !(u->w.hs && hs_in_code_cache(u->w.hs, pc)) && modmap_find(u->w.maps, pc).kind == MODMAP_NONE;
}

static int walk_user(struct unwinder *u, const struct raw_sample *s)
{
	struct walker *w = &u->w;
	struct mem_stack stack;
	int r;

	mem_stack_init(&stack, u->mem, s->stack_addr, s->stack, s->stack_len);
	stack.hidden = s->stack_missing;
	w->mem = &stack.mem;
	w->regs = s->regs;
	w->exact = true;
	w->copied_end = s->stack_addr + s->stack_len;
	w->heap = s->frozen;
	w->heap_len = s->frozen_len;
	r = walk_frames(w);
	if (r == WALK_BAD_PC && is_in_execve(u, s))
		r = WALK_NO_USER;
	w->mem = NULL;
	return r;
}

static void walk_reset(struct walker *w, int32_t ns_tid)
{
	w->n = 0;
	w->ns_tid = ns_tid;
	w->thread_asked = w->has_thread = false;
	w->doubtful_from = UINT32_MAX;
	w->wrapper = w->anchor_sp = w->cont_entry = w->continuation = 0;
	w->resynchronised = w->frozen = w->heap_used = w->java = false;
}

static int walk_once(struct unwinder *u, const struct raw_sample *s, int32_t ns_tid)
{
	int r = STEP_MORE;

	walk_reset(&u->w, ns_tid);
	if (u->options.kernel)
		r = walk_kernel(&u->w, s);
	if (r != STEP_MORE)
		return r;
	return s->has_user ? walk_user(u, s) : WALK_NO_USER;
}

static void set_walk_times(struct unwinder *u, const struct raw_sample *s)
{
	if (!u->options.live)
		return;
	if (s->time_ns >= u->now_ns)
		u->now_ns = clock_monotonic_ns();
	hotspot_walk_times(u->w.hs, s->time_ns, u->now_ns);
}

/* If code was replaced during the walk, the result is worthless, and the walk is repeated with what is there now. */
static int walk_consistent(struct unwinder *u, const struct raw_sample *s, int32_t ns_tid)
{
	if (!u->w.hs)
		return walk_once(u, s, ns_tid);
	set_walk_times(u, s);
	for (int walks = 0; walks < MAX_WALKS; walks++) {
		hotspot_walk_begin(u->w.hs);
		int r = walk_once(u, s, ns_tid);

		if (hotspot_walk_end(u->w.hs))
			return r;
	}
	return WALK_CHANGED;
}

bool unwinder_add_root(struct unwinder *u, struct walk *w, enum frame_mark mark, uint32_t id)
{
	if (w->n != u->w.n || !walker_push(&u->w, FRAME_MARK, 0, id, mark))
		return false;
	w->frames = u->w.frames;
	w->n = u->w.n;
	return true;
}

void unwinder_walk(struct unwinder *u, const struct raw_sample *s, int32_t ns_tid, struct walk *ret)
{
	struct walker *w = &u->w;
	int end;

	mem_new_sample(u->mem);
	pc_cache_use(w->rows, u->jvm);
	end = walk_consistent(u, s, ns_tid);
	*ret = (struct walk){
		.frames = w->frames,
		.n = w->n,
		.end = (enum walk_end)end,
		.resynchronised = w->resynchronised,
		.heap = w->heap_used,
		.frozen = w->frozen,
		.java = w->java,
		.continuation = w->continuation,
	};
	if (end != WALK_ROOT) {
		ret->fail_pc = walker_pc(w);
		ret->fail_sp = walker_sp(w);
	}
}
