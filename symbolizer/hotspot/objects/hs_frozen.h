#ifndef JS_HOTSPOT_HS_FROZEN_H
#define JS_HOTSPOT_HS_FROZEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hotspot;
struct mem;

/*
 * Those frames of a mounted virtual thread that are not on the carrier's stack but in stack chunks in the Java heap
 * (jdk.internal.vm.StackChunk; JDK 21 on: oops/instanceStackChunkKlass.hpp, runtime/continuationFreezeThaw.cpp). They
 * change while the thread runs, so the caller must make sure that it does not run from its sample until the copy is
 * made.
 *
 * A copier shares nothing with the hotspot from which it was made, so another thread may own it.
 */
struct hs_frozen;

/* `mem` is borrowed; `hs` is needed only during the call. NULL: out of memory. */
struct hs_frozen *hs_frozen_new(struct hotspot *hs, struct mem *mem);
void hs_frozen_free(struct hs_frozen *f);

/*
 * Copies the frozen frames of the continuation that is mounted on this JavaThread. Returns the bytes written to `dst`;
 * 0: there are none, or they cannot be read (the collector is moving them, the layout is unknown, `max` is too small).
 */
size_t hs_frozen_copy(struct hs_frozen *f, uint64_t java_thread, int32_t ns_tid, uint8_t *dst, size_t max);

/* Did it turn out that the chunks of this JVM cannot be read? */
bool hs_frozen_hopeless(const struct hs_frozen *f);

/* The ContinuationEntry whose frames are in a copy; the copy may come from a file. 0: malformed. */
uint64_t hs_frozen_entry(const uint8_t *copy, size_t len);

/*
 * One chunk of a copy; the innermost comes first. Indices are in words from the start of the chunk, as in the JVM: its
 * frames are in [sp, bottom), and the two words below each frame's sp are its saved fp and its pc. The copy has the
 * words [sp - 2, size).
 */
struct hs_chunk {
	int64_t sp, bottom, size;
	const uint8_t *words; /* from index sp - 2 on */
};

enum { CHUNK_BELOW = 2 };

/* *at must be 0 in the first call. false: there are no more chunks, or the copy is malformed. */
bool hs_frozen_next(const uint8_t *copy, size_t len, size_t *at, struct hs_chunk *ret);
bool hs_chunk_word(const struct hs_chunk *c, int64_t index, uint64_t *ret);

#endif
