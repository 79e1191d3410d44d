#include "symbolizer/base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `more` bytes and a NUL after the `len` bytes there. */
static bool buf_reserve(struct buf *b, size_t more)
{
	size_t want, cap = b->cap ? b->cap : 64;
	char *p;

	if (b->failed)
		return false;
	b->failed = more >= SIZE_MAX / 2 - b->len;
	if (b->failed)
		return false;
	want = b->len + more + 1;
	if (want <= b->cap)
		return true;
	while (cap < want)
		cap *= 2;
	p = realloc(b->data, cap);
	b->failed = !p;
	if (b->failed)
		return false;
	b->data = p;
	b->cap = cap;
	return true;
}

char *buf_extend(struct buf *b, size_t len)
{
	char *p;

	if (!buf_reserve(b, len))
		return NULL;
	p = b->data + b->len;
	b->len += len;
	b->data[b->len] = '\0';
	return p;
}

void buf_cut(struct buf *b, size_t len)
{
	if (len >= b->len)
		return;
	b->len = len;
	b->data[len] = '\0';
}

void buf_add(struct buf *b, const void *bytes, size_t len)
{
	if (len == 0 || !buf_reserve(b, len))
		return;
	memcpy(b->data + b->len, bytes, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void buf_add_z(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	size_t room;
	int n;

	if (!buf_reserve(b, strlen(fmt)))
		return;
	room = b->cap - b->len;
	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(b->data + b->len, room, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n >= room) {
		if (buf_reserve(b, (size_t)n))
			vsnprintf(b->data + b->len, b->cap - b->len, fmt, again);
		else
			b->data[b->len] = '\0';
	}
	va_end(again);
	if (n < 0)
		b->failed = true;
	else if (!b->failed)
		b->len += (size_t)n;
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->failed = false;
	if (b->data)
		b->data[0] = '\0';
}

void buf_done(struct buf *b)
{
	free(b->data);
	*b = (struct buf){0};
}
