#ifndef JS_BRIDGE_DUMP_WRITE_H
#define JS_BRIDGE_DUMP_WRITE_H

#include <jvmti.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Values in dumps: u2, u4, u8 and values of those sizes are big-endian, pointers have native size and order, nothing
 * is aligned. Each function returns the end of what it wrote.
 */
static inline char *put_u1(char *p, unsigned v)
{
	*p = (char)v;
	return p + 1;
}

static inline char *put_big(char *p, uint64_t v, size_t size)
{
	for (size_t i = 0; i < size; i++)
		p[i] = (char)(v >> 8 * (size - 1 - i));
	return p + size;
}

static inline char *put_u4(char *p, uint32_t v)
{
	return put_big(p, v, 4);
}

static inline char *put_pointer(char *p, const void *v)
{
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

/* Size by the first character of a signature; a reference has the size of a pointer. */
static inline size_t value_size(char type)
{
	switch (type) {
	case 'Z':
	case 'B': return 1;
	case 'C':
	case 'S': return 2;
	case 'F':
	case 'I': return 4;
	default: return 8;
	}
}

static inline int value_is_reference(char type)
{
	return type == 'L' || type == '[';
}

static inline char *put_value(char *p, char type, jvalue v)
{
	uint64_t bits = 0;

	memcpy(&bits, &v, value_size(type)); /* a union, and little-endian: the low bytes */
	return put_big(p, bits, value_size(type));
}

#endif
