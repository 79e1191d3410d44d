#ifndef JS_RECORDING_DECODE_H
#define JS_RECORDING_DECODE_H

#include "sampler/recording/recording.h"
#include "symbolizer/base/arena.h"
#include "symbolizer/base/cursor.h"

/*
 * What is parsed from a recording may take a few times its size, but no more: a few hostile bytes could stand for
 * kilobytes.
 */
static inline bool decode_fits(const struct arena *a)
{
	return a->bytes <= 4 * (size_t)RECORDING_MAX_BYTES;
}

/* A text of a recording, NUL-terminated in the arena; "" (and the cursor bad) when malformed. */
static inline const char *get_text(struct cursor *c, struct arena *a)
{
	uint32_t len = cursor_u32(c);
	const char *bytes = cursor_take(c, len);
	const char *s = bytes ? arena_strndup(a, bytes, len) : NULL;

	if (!s)
		c->bad = true;
	return s ? s : "";
}

/* Unsigned LEB128 of at most 64 bits. */
static inline uint64_t get_uleb(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = cursor_u8(c);

		if (shift == 63 && byte > 1)
			break;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

/* The number of elements, of at least `min` bytes each; 0 (and the cursor bad) if that many do not fit. */
static inline uint32_t get_count(struct cursor *c, size_t min)
{
	uint32_t n = cursor_u32(c);

	if (n > cursor_left(c) / min) {
		c->bad = true;
		return 0;
	}
	return n;
}

#endif
