#ifndef JS_SESSION_HEAP_FRAMES_H
#define JS_SESSION_HEAP_FRAMES_H

#include <stdint.h>
#include <sys/types.h>

#include "sampler/engine/engine.h"

struct hotspot;
struct hs_thread;
struct proc;

/*
 * Frames of virtual threads that lie in the heap: which threads have some is learnt from their walks; from then
 * on the engine has them copied with each sample. Shared by the session's thread, which learns, and the
 * engine's, which copies.
 */
struct heap_frames;

struct heap_frames *heap_frames_new(struct proc *proc); /* NULL: out of memory; proc is borrowed */
void heap_frames_free(struct heap_frames *h);
struct engine_aside heap_frames_aside(struct heap_frames *h);

/* A stack of this thread ended at frames in the heap. */
void heap_frames_note(struct heap_frames *h, struct hotspot *hs, pid_t tid, const struct hs_thread *t);
/* For -v: samples of such threads; of these, those whose frames were tried to copy in time, and were copied. */
struct heap_frames_stats {
	uint64_t asked, tried, copied;
};
struct heap_frames_stats heap_frames_stats(struct heap_frames *h);

void heap_frames_forget(struct heap_frames *h, pid_t tid); /* 0: all; the JVM is another one now */

#endif
