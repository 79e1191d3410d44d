#ifndef JS_HOTSPOT_HS_FROZEN_H
#define JS_HOTSPOT_HS_FROZEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hotspot;
struct mem;

/*
 * The frames of a mounted virtual thread that are not on the carrier's stack: they lie in stack chunks
 * in the Java heap (jdk.internal.vm.StackChunk; JDK 21 on: oops/instanceStackChunkKlass.hpp,
 * runtime/continuationFreezeThaw.cpp). Which they are is true for one moment only: whoever copies them
 * must know that the thread does not run, from its sample until the copy is made.
 *
 * A copier shares nothing with the hotspot that it was made of, so that another thread may own it.
 */
struct hs_frozen;

/* `mem` is borrowed; `hs` is needed during the call only. NULL: out of memory. */
struct hs_frozen *hs_frozen_new(struct hotspot *hs, struct mem *mem);
void hs_frozen_free(struct hs_frozen *f);

/*
 * Copies the frozen frames of what is mounted on this JavaThread. Returns the bytes written to `dst`; 0:
 * there are none, or they cannot be read (a collector at work, a layout that is not known, `max` too small).
 */
size_t hs_frozen_copy(struct hs_frozen *f, uint64_t java_thread, int32_t ns_tid, uint8_t *dst, size_t max);

/* It was found out that this JVM's chunks cannot be read. */
bool hs_frozen_hopeless(const struct hs_frozen *f);

/* In a copy, which may be a file's: the ContinuationEntry under which the frames were mounted; 0: malformed. */
uint64_t hs_frozen_entry(const uint8_t *copy, size_t len);

/*
 * One chunk of a copy, the innermost first. Indices are in words from the chunk's own begin, as the JVM counts:
 * its frames take [sp, bottom), two words below each frame's sp are its saved fp and its pc. Words of
 * [sp - 2, size) are there.
 */
struct hs_chunk {
	int64_t sp, bottom, size;
	const uint8_t *words; /* of sp - 2 and on */
};

enum { CHUNK_BELOW = 2 };

/* *at: 0 at first. false: no more, or malformed. */
bool hs_frozen_next(const uint8_t *copy, size_t len, size_t *at, struct hs_chunk *ret);
bool hs_chunk_word(const struct hs_chunk *c, int64_t index, uint64_t *ret);

#endif
