#ifndef JS_BRIDGE_BYTES_H
#define JS_BRIDGE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Big-endian numbers, as class files have them. */

/* Reads from memory that nobody vouches for. After the first read beyond the end, `bad` is set and all reads give 0. */
struct reader {
	const uint8_t *p;
	size_t size, at;
	bool bad;
};

/* Grows as needed. After the first failed allocation, `failed` is set and writes do nothing. free(p) when done. */
struct writer {
	uint8_t *p;
	size_t size, capacity;
	bool failed;
};

static inline const uint8_t *read_bytes(struct reader *r, size_t n)
{
	if (r->bad || n > r->size - r->at) {
		r->bad = true;
		return NULL;
	}
	r->at += n;
	return r->p + r->at - n;
}

static inline uint32_t get_u2(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static inline uint32_t get_u4(const uint8_t *p)
{
	return get_u2(p) << 16 | get_u2(p + 2);
}

static inline uint32_t read_u1(struct reader *r)
{
	const uint8_t *p = read_bytes(r, 1);

	return p ? *p : 0;
}

static inline uint32_t read_u2(struct reader *r)
{
	const uint8_t *p = read_bytes(r, 2);

	return p ? get_u2(p) : 0;
}

static inline uint32_t read_u4(struct reader *r)
{
	const uint8_t *p = read_bytes(r, 4);

	return p ? get_u4(p) : 0;
}

/* The next n bytes as a reader of their own. */
static inline struct reader read_part(struct reader *r, size_t n)
{
	const uint8_t *p = read_bytes(r, n);

	return p ? (struct reader){.p = p, .size = n} : (struct reader){.bad = true};
}

/* n bytes to be filled in. NULL: out of memory. */
static inline uint8_t *write_space(struct writer *w, size_t n)
{
	if (!w->failed && n > w->capacity - w->size) {
		size_t capacity = 2 * w->capacity + n + 256;
		uint8_t *more = realloc(w->p, capacity);

		if (more) {
			w->p = more;
			w->capacity = capacity;
		}
		w->failed = !more;
	}
	if (w->failed)
		return NULL;
	w->size += n;
	return w->p + w->size - n;
}

static inline void put_u2(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void put_u4(uint8_t *p, uint32_t v)
{
	put_u2(p, v >> 16);
	put_u2(p + 2, v);
}

static inline void write_u1(struct writer *w, uint32_t v)
{
	uint8_t *p = write_space(w, 1);

	if (p)
		*p = (uint8_t)v;
}

static inline void write_u2(struct writer *w, uint32_t v)
{
	uint8_t *p = write_space(w, 2);

	if (p)
		put_u2(p, v);
}

static inline void write_u4(struct writer *w, uint32_t v)
{
	uint8_t *p = write_space(w, 4);

	if (p)
		put_u4(p, v);
}

static inline void write_bytes(struct writer *w, const void *from, size_t n)
{
	uint8_t *p = n ? write_space(w, n) : NULL;

	if (p)
		memcpy(p, from, n);
}

#endif
