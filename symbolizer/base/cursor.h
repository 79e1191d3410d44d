#ifndef JS_BASE_CURSOR_H
#define JS_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Bounds-checked reading of foreign bytes (little-endian). A read past the end gives 0 and sets `bad` permanently, so a
 * parser checks once after a group of reads.
 */
struct cursor {
	const uint8_t *p, *end;
	bool bad;
};

static inline struct cursor cursor_make(const void *p, size_t len)
{
	/* NULL + 0 is undefined in C (C17 6.5.6). */
	return (struct cursor){p, len ? (const uint8_t *)p + len : p, false};
}

static inline size_t cursor_left(const struct cursor *c)
{
	return c->bad ? 0 : (size_t)(c->end - c->p);
}

/* Borrowed pointer to `len` bytes, or NULL. */
static inline const void *cursor_take(struct cursor *c, size_t len)
{
	const void *p = c->p;

	if (len > cursor_left(c)) {
		c->bad = true;
		return NULL;
	}
	if (len)
		c->p += len;
	return p;
}

#define CURSOR_READER(type, name)                                                                                      \
	static inline type cursor_##name(struct cursor *c)                                                             \
	{                                                                                                              \
		type v = 0;                                                                                            \
		const void *p = cursor_take(c, sizeof(v));                                                             \
		if (p)                                                                                                 \
			memcpy(&v, p, sizeof(v));                                                                      \
		return v;                                                                                              \
	}
CURSOR_READER(uint8_t, u8)
CURSOR_READER(uint16_t, u16)
CURSOR_READER(uint32_t, u32)
CURSOR_READER(uint64_t, u64)
CURSOR_READER(int32_t, i32)
#undef CURSOR_READER

#endif
