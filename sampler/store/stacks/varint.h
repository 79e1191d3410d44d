#ifndef JS_STACKS_VARINT_H
#define JS_STACKS_VARINT_H

#include <stdint.h>

#include "symbolizer/base/buf.h"
#include "symbolizer/base/cursor.h"

enum { VARINT_BYTES = 10 }; /* of a 64-bit number, at most */

/* Variable-length numbers: seven bits per byte, lowest first; the eighth bit says that more follow. */
static inline void varint_add(struct buf *b, uint64_t v)
{
	uint8_t bytes[VARINT_BYTES];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (uint8_t)(v | 0x80);
	bytes[n++] = (uint8_t)v;
	buf_add(b, bytes, n);
}

/* On error, returns 0 and sets c->bad. */
static inline uint64_t varint_take(struct cursor *c)
{
	size_t left = cursor_left(c), n = left < VARINT_BYTES ? left : VARINT_BYTES;
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++) {
		v |= (uint64_t)(c->p[i] & 0x7f) << 7 * i;
		if (c->p[i] < 0x80) {
			c->p += i + 1;
			return v;
		}
	}
	c->bad = true;
	return 0;
}

/* For a number that must not exceed `max`. */
static inline uint32_t varint_take_u32(struct cursor *c, uint32_t max)
{
	uint64_t v = varint_take(c);

	if (v > max)
		c->bad = true;
	return c->bad ? 0 : (uint32_t)v;
}

/* For small numbers of either sign. */
static inline void varint_add_signed(struct buf *b, int64_t v)
{
	varint_add(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static inline int64_t varint_take_signed(struct cursor *c)
{
	uint64_t v = varint_take(c);

	return (int64_t)(v >> 1 ^ -(v & 1));
}

#endif
