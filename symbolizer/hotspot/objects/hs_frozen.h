#ifndef JS_HOTSPOT_HS_FROZEN_H
#define JS_HOTSPOT_HS_FROZEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hotspot;
struct mem;

/*
 * The frames of a mounted virtual thread that are not on the carrier's stack but in stack chunks
 * in the Java heap (jdk.internal.vm.StackChunk; JDK 21 on: oops/instanceStackChunkKlass.hpp,
 * runtime/continuationFreezeThaw.cpp). They change while the thread runs: the caller must make sure
 * that it does not, from its sample until the copy is made.
 *
 * A copier shares nothing with the hotspot that it was made from, so that another thread may own it.
 */
struct hs_frozen;

/* `mem` is borrowed; `hs` is needed during the call only. NULL: out of memory. */
struct hs_frozen *hs_frozen_new(struct hotspot *hs, struct mem *mem);
void hs_frozen_free(struct hs_frozen *f);

/*
 * Copies the frozen frames of the continuation that is mounted on this JavaThread. Returns the bytes written to `dst`;
 * 0: there are none, or they cannot be read (the collector is moving them, the layout is unknown, `max` is too small).
 */
size_t hs_frozen_copy(struct hs_frozen *f, uint64_t java_thread, int32_t ns_tid, uint8_t *dst, size_t max);

/* Has it turned out that the chunks of this JVM cannot be read? */
bool hs_frozen_hopeless(const struct hs_frozen *f);

/* The ContinuationEntry of the frames in a copy, which may come from a file; 0: malformed. */
uint64_t hs_frozen_entry(const uint8_t *copy, size_t len);

/*
 * One chunk of a copy, innermost first. Indices are in words from the begin of the chunk, as in the JVM:
 * its frames take [sp, bottom); the two words below each frame's sp are its saved fp and its pc. The words
 * [sp - 2, size) are in the copy.
 */
struct hs_chunk {
	int64_t sp, bottom, size;
	const uint8_t *words; /* from sp - 2 on */
};

enum { CHUNK_BELOW = 2 };

/* *at must be 0 at first. false: there are no more, or the copy is malformed. */
bool hs_frozen_next(const uint8_t *copy, size_t len, size_t *at, struct hs_chunk *ret);
bool hs_chunk_word(const struct hs_chunk *c, int64_t index, uint64_t *ret);

#endif
