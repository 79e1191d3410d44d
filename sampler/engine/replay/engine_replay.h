#ifndef JS_ENGINE_ENGINE_REPLAY_H
#define JS_ENGINE_ENGINE_REPLAY_H

#include "sampler/engine/engine.h"

struct mem;
struct recording;

/*
 * The engine that replays a recording: puts its memory spans into `pages` (mem_pages_new()) and hands
 * its samples over, in order, as fast as they are taken. The spans in front of the first sample are
 * there when this returns. Both are borrowed. NULL: out of memory.
 */
struct engine *engine_replay_new(const struct recording *rec, struct mem *pages);

#endif
