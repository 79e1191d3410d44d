#ifndef JS_SESSION_PARTS_HEAP_FRAMES_H
#define JS_SESSION_PARTS_HEAP_FRAMES_H

#include "sampler/engine/engine.h"
#include "sampler/session/parts/part.h"

struct proc;

/*
 * Frames of virtual threads that lie in the heap. Walks show which threads have such frames; from
 * then on the engine copies them with each sample. Used by the session's thread, which learns, and
 * by the engine's threads, which copy.
 */
struct heap_frames;

struct heap_frames *heap_frames_new(struct proc *proc); /* NULL: out of memory; proc is borrowed */
extern const struct part_ops heap_frames_part;
struct engine_frozen heap_frames_options(struct heap_frames *h);

#endif
