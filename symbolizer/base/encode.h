#ifndef JS_BASE_ENCODE_H
#define JS_BASE_ENCODE_H

#include <stdint.h>
#include <string.h>

#include "symbolizer/base/buf.h"

/* Appends little-endian numbers to a buf (cursor.h reads them); the program runs on little-endian processors only. */
static inline void put_u8(struct buf *b, uint8_t v)
{
	buf_add(b, &v, sizeof(v));
}

static inline void put_u16(struct buf *b, uint16_t v)
{
	buf_add(b, &v, sizeof(v));
}

static inline void put_u32(struct buf *b, uint32_t v)
{
	buf_add(b, &v, sizeof(v));
}

static inline void put_u64(struct buf *b, uint64_t v)
{
	buf_add(b, &v, sizeof(v));
}

static inline void put_uleb(struct buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		put_u8(b, (uint8_t)(v | 0x80));
	put_u8(b, (uint8_t)v);
}

static inline void put_text(struct buf *b, const char *s)
{
	put_u32(b, (uint32_t)strlen(s));
	buf_add_z(b, s);
}

/* Starts a section; put_section_end() fills in its length. */
static inline size_t put_section(struct buf *b, uint32_t tag)
{
	put_u32(b, tag);
	put_u32(b, 0);
	return b->len;
}

static inline void put_section_end(struct buf *b, size_t start)
{
	uint32_t len = (uint32_t)(b->len - start);

	if (!b->failed)
		memcpy(b->data + start - sizeof(len), &len, sizeof(len));
}

#endif
