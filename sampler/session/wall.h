#ifndef JS_SESSION_WALL_H
#define JS_SESSION_WALL_H

#include <stdint.h>
#include <sys/types.h>

#include "sampler/model/raw_sample.h"
#include "sampler/model/walk.h"

struct hotspot;

/*
 * The last walk of each thread, for wall-clock profiles: a thread that has not run is where it was.
 */
struct wall;

struct wall *wall_new(void); /* NULL: out of memory */
void wall_free(struct wall *w);
void wall_reset(struct wall *w); /* another address space: keys of the old one mean nothing */

/* A walk was made of a sample that the engine found in state `found`, and that is told as `told`. */
void wall_keep(struct wall *w, pid_t tid, enum thread_state found, enum thread_state told,
	       const struct walk *walk);
/* That walk again, borrowed until the next call. `found` now; *ret_told: as what to tell it. NULL: none. */
const struct walk *wall_again(struct wall *w, pid_t tid, enum thread_state found,
			      enum thread_state *ret_told);
void wall_forget(struct wall *w, pid_t tid);
/* Calls fn for each frame that wall_again() may answer with. */
void wall_frames(const struct wall *w, void (*fn)(void *ctx, const struct frame_key *k), void *ctx);

/* What the engine calls blocked, HotSpot may know more of. ns_tid 0: unknown. hs may be NULL. */
enum thread_state wall_state(enum thread_state found, struct hotspot *hs, int32_t ns_tid);

#endif
