#ifndef JS_ENGINE_ENGINE_REPLAY_H
#define JS_ENGINE_ENGINE_REPLAY_H

#include "sampler/engine/engine.h"

struct mem;
struct recording;

/*
 * The engine that replays a recording: puts its memory into `pages` (mem_pages_new()) and delivers
 * its samples, in order and as fast as possible. The memory of the first sample is
 * in `pages` when this returns. Both are borrowed. NULL: out of memory.
 */
struct engine *engine_replay_new(const struct recording *rec, struct mem *pages);

#endif
