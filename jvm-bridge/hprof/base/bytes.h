#ifndef JS_HPROF_BYTES_H
#define JS_HPROF_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A growing buffer, all numbers big-endian. Without memory, `failed` is set and nothing more is appended. */
struct bytes {
	unsigned char *at;
	size_t n, cap;
	bool failed;
};

static inline void bytes_clear(struct bytes *b)
{
	b->n = 0;
	b->failed = false;
}

static inline void put_bytes(struct bytes *b, const void *data, size_t n)
{
	if (b->cap - b->n < n) {
		size_t cap = b->n + n > b->cap * 2 ? b->n + n : b->cap * 2;
		unsigned char *at = b->failed ? NULL : realloc(b->at, cap);

		if (!at) {
			b->failed = true;
			return;
		}
		b->at = at;
		b->cap = cap;
	}
	if (n)
		memcpy(b->at + b->n, data, n);
	b->n += n;
}

static inline void put_number(struct bytes *b, uint64_t v, size_t size)
{
	unsigned char big[8];

	for (size_t i = 0; i < size; i++)
		big[i] = (unsigned char)(v >> 8 * (size - 1 - i));
	put_bytes(b, big, size);
}

static inline void put_u1(struct bytes *b, unsigned v)
{
	put_number(b, v, 1);
}

static inline void put_u2(struct bytes *b, size_t v)
{
	put_number(b, v < UINT16_MAX ? v : UINT16_MAX, 2);
}

/* A value that does not fit is written as the largest that does. */
static inline void put_u4(struct bytes *b, uint64_t v)
{
	put_number(b, v < UINT32_MAX ? v : UINT32_MAX, 4);
}

static inline void put_u8(struct bytes *b, uint64_t v)
{
	put_number(b, v, 8);
}

#endif
