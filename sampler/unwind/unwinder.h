#ifndef JS_UNWIND_UNWINDER_H
#define JS_UNWIND_UNWINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/model/frame_key.h"
#include "sampler/model/raw_sample.h"
#include "sampler/model/walk.h"

struct arch;
struct hotspot;
struct mem;
struct modmap;
struct patterns;

/*
 * Turns registers and memory into frames with keys: the kernel's call chain, native frames by CFI, Java frames by
 * HotSpot's rules, and native ones again, down to the thread's first frame. Knows nothing of engines. Walking
 * allocates no memory, however deep the stack, and opens no files: when a walk meets a method or a DSO for the first
 * time, hotspot copies what its key needs, and modmap opens the DSO.
 */
struct unwinder;

struct unwinder_options {
	bool kernel; /* keep kernel frames */
	bool live; /* samples are recent: their times can be compared with CLOCK_MONOTONIC */
	const struct arch *arch; /* the samples' processor; NULL: this host's */
	const struct patterns *patterns; /* of the same processor */
};

/*
 * What a walk needs for a while, and what is remembered between walks: up to 2 MB. Unwinders that walk in turn, in one
 * thread, may share it.
 */
struct unwinder_room;

struct unwinder_room *unwinder_room_new(void); /* NULL: out of memory */
void unwinder_room_free(struct unwinder_room *r);

/* All are borrowed. `hs` may be NULL (not a JVM), and set later. `mem`: the target's memory. */
struct unwinder *unwinder_new(struct modmap *maps, struct hotspot *hs, struct mem *mem,
			      struct unwinder_options options);
void unwinder_set_hotspot(struct unwinder *u, struct hotspot *hs);
void unwinder_free(struct unwinder *u);

/* Uses `room` (borrowed) in place of its own from now on; walks of the others invalidate the frames of this one's. */
void unwinder_share(struct unwinder *u, struct unwinder_room *room);

/*
 * Walks one sample. `ns_tid`: the thread in the target's own PID namespace (0: unknown). ret->frames is borrowed
 * until the next call. There always is a walk, and a reason why it ended.
 */
void unwinder_walk(struct unwinder *u, const struct raw_sample *s, int32_t ns_tid, struct walk *ret);

/* Adds a synthetic root frame to the last walk. False: no room. */
bool unwinder_add_root(struct unwinder *u, struct walk *w, enum frame_mark mark, uint32_t id);

#endif
