#include "jvm-bridge/peer/wire_read.h"

#include <errno.h>
#include <string.h>

#include "jvm-bridge/stream/wire.h"

int wire_take(const void *p, size_t len, struct wire_record *ret)
{
	struct cursor c = cursor_make(p, len);
	uint32_t size;

	if (len < sizeof(uint32_t))
		return 0;
	size = cursor_u32(&c);
	/* Check the size before waiting for the whole record. */
	if (size < WIRE_HEADER || size > WIRE_RECORD_MAX || size % 8)
		return -EPROTO;
	if (len < size)
		return 0;
	ret->size = size;
	ret->type = cursor_u16(&c);
	ret->flags = cursor_u16(&c);
	ret->time = cursor_u64(&c);
	ret->body = cursor_make((const uint8_t *)p + WIRE_HEADER, size - WIRE_HEADER);
	return (int)size;
}

struct wire_str wire_str(struct cursor *c)
{
	struct wire_str s = {.len = cursor_u16(c)};

	if (s.len == WIRE_NULL)
		return (struct wire_str){0};
	s.p = cursor_take(c, s.len);
	if (s.p && memchr(s.p, 0, s.len))
		c->bad = true;
	if (c->bad)
		return (struct wire_str){0};
	return s;
}

int wire_hello(const struct wire_record *r, struct wire_hello *ret)
{
	struct cursor c = r->body;
	const void *magic = cursor_take(&c, strlen(WIRE_MAGIC));

	if (r->type != WIRE_HELLO || !magic || memcmp(magic, WIRE_MAGIC, strlen(WIRE_MAGIC)) != 0)
		return -EPROTO;
	ret->major = cursor_u16(&c);
	ret->minor = cursor_u16(&c);
	if (c.bad)
		return -EPROTO;
	if (ret->major != WIRE_VERSION_MAJOR)
		return -ENOTSUP;
	cursor_u32(&c); /* size of a pointer */
	ret->pid = cursor_u32(&c);
	cursor_u32(&c);
	ret->monotonic_ns = cursor_u64(&c);
	ret->realtime_ns = cursor_u64(&c);
	ret->version = wire_str(&c);
	return c.bad ? -EPROTO : 0;
}
