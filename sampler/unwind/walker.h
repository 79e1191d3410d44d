#ifndef JS_UNWIND_WALKER_H
#define JS_UNWIND_WALKER_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/model/frame_key.h"
#include "sampler/model/walk.h"
#include "sampler/unwind/flow.h"
#include "sampler/unwind/patterns.h"
#include "sampler/unwind/unwinder.h"
#include "symbolizer/hotspot/threads/hs_thread.h"
#include "symbolizer/target/arch.h"
#include "symbolizer/target/mem.h"

struct hotspot;
struct modmap;
struct pc_cache;

enum { WALK_MAX_FRAMES = 65536 };

/* Result of one step: the walk continues, or the reason why it ends (enum walk_end, >= 0). */
enum { STEP_MORE = -1 };

/* The state of one walk: the registers of the current frame, and what the walk may use. */
struct walker {
	struct modmap *maps;
	struct hotspot *hs; /* NULL: not a JVM */
	struct flow *flow;
	struct pc_cache *rows;
	const struct arch *arch;
	const struct patterns *patterns;

	struct mem *mem; /* the copied stack on top of the live memory */
	struct regs regs;
	bool exact; /* pc is where the thread was executing, and not a return address */
	bool sp_free; /* the last step was allowed not to move sp outwards */
	uint64_t copied_end; /* first stack address that was not copied with the sample */

	int32_t ns_tid;
	bool thread_asked, has_thread;
	struct hs_thread thread;
	uint64_t wrapper; /* JavaCallWrapper of the last call_stub left; 0: none yet */
	uint64_t anchor_sp; /* of the last anchor used: the next one has to be further out */
	uint64_t cont_entry; /* ContinuationEntry of the last return barrier; 0: none */
	uint64_t continuation; /* the innermost one; 0: none seen */
	/* Frames from here on may be from another moment: the carrier was looked up after the thread had moved on.
	 * UINT32_MAX: none. */
	uint32_t doubtful_from;
	const uint8_t *heap; /* copy of the frozen frames; borrowed from the sample */
	size_t heap_len;

	struct frame_key *frames; /* WALK_MAX_FRAMES */
	uint32_t n;
	bool resynchronised, frozen, heap_used, java;
};

static inline uint64_t walker_pc(const struct walker *w)
{
	return w->regs.r[w->arch->pc];
}

static inline uint64_t walker_sp(const struct walker *w)
{
	return w->regs.r[w->arch->sp];
}

/* False: the frame pointer is not known. */
static inline bool walker_fp(const struct walker *w, uint64_t *ret)
{
	*ret = w->regs.r[w->arch->fp];
	return regs_known(&w->regs, w->arch->fp);
}

/* False: too many frames. */
bool walker_push(struct walker *w, enum frame_kind kind, unsigned flags, uint32_t id, int64_t off);
void walker_pop(struct walker *w); /* removes the last frame */

static inline unsigned walker_exact_flag(const struct walker *w)
{
	return w->exact ? FRAME_PC_EXACT : 0;
}

/* Continues in a frame of generated code; all other registers are unknown. */
void walker_goto(struct walker *w, uint64_t pc, uint64_t sp, uint64_t fp);
void walker_goto_no_fp(struct walker *w, uint64_t pc, uint64_t sp);

/* NULL: not a Java thread, or not known which. Reads the target's memory, so call it only in walks that need it. */
const struct hs_thread *walker_thread(struct walker *w);

/* Could `sp` be in this thread's stack? Its bounds are known after walker_thread(). */
bool walker_on_stack(const struct walker *w, uint64_t sp);

#endif
