#ifndef JS_TESTS_WIRE_BUILD_H
#define JS_TESTS_WIRE_BUILD_H

/* Records of the bridge's stream (jvm-bridge/stream/wire.h), written; and fed to a timeline. Behind cmocka.h. */
#include <string.h>

#include "jvm-bridge/peer/timeline.h"
#include "jvm-bridge/peer/wire_read.h"
#include "jvm-bridge/stream/wire.h"
#include "symbolizer/base/buf.h"

static inline void put(struct buf *b, uint64_t v, int bytes)
{
	buf_add(b, &v, (size_t)bytes);
}

static inline void put_str(struct buf *b, const char *s)
{
	put(b, s ? strlen(s) : WIRE_NULL, 2);
	buf_add(b, s ? s : "", s ? strlen(s) : 0);
}

static inline size_t begin(struct buf *b, int type, int flags, uint64_t time)
{
	size_t at = b->len;

	put(b, 0, 4);
	put(b, (uint64_t)type, 2);
	put(b, (uint64_t)flags, 2);
	put(b, time, 8);
	return at;
}

static inline void end(struct buf *b, size_t at)
{
	uint32_t size;

	while ((b->len - at) % 8)
		put(b, 0, 1);
	size = (uint32_t)(b->len - at);
	memcpy(b->data + at, &size, sizeof(size));
}

static inline void class_load(struct buf *b, uint64_t id, const char *name, uint64_t method, const char *method_name)
{
	size_t at = begin(b, WIRE_CLASS_LOAD, 0, 1);

	put(b, id, 8);
	put(b, 0, 8);
	put_str(b, name);
	put_str(b, NULL);
	put(b, 2, 4);
	for (uint64_t i = 0; i < 2; i++) {
		put(b, method + i, 8);
		put(b, 1, 4);
		put(b, 9, 4);
		put_str(b, i ? "other" : method_name);
		put_str(b, "()V");
	}
	end(b, at);
}

/* Two scopes, `other` inlined in the method from offset 16 to 31. */
static inline void code_load(struct buf *b, int flags, uint64_t time, uint64_t addr, uint64_t method, uint32_t size)
{
	size_t at = begin(b, WIRE_CODE_LOAD, flags, time);

	put(b, addr, 8);
	put(b, method, 8);
	put(b, size, 4);
	put(b, 2, 4);
	put(b, 2, 4);
	put(b, 3, 4);
	put(b, method, 8);
	put(b, method + 1, 8);
	put(b, WIRE_NONE, 4), put(b, 0, 4), put(b, 3, 4), put(b, 5, 4);
	put(b, 0, 4), put(b, 1, 4), put(b, 7, 4), put(b, 8, 4);
	put(b, 16, 4), put(b, 0, 4);
	put(b, 32, 4), put(b, 1, 4);
	put(b, size, 4), put(b, 0, 4);
	end(b, at);
}

static inline void simple(struct buf *b, int type, uint64_t time, uint64_t x, uint64_t y)
{
	size_t at = begin(b, type, 0, time);

	put(b, x, 8);
	put(b, y, 8);
	end(b, at);
}

static inline int feed_all(struct timeline *t, const struct buf *b)
{
	size_t at = 0;
	int r = 0;

	while (r == 0 && at < b->len) {
		struct wire_record rec;
		int n = wire_take(b->data + at, b->len - at, &rec);

		assert_true(n > 0);
		r = timeline_feed(t, &rec);
		at += (size_t)n;
	}
	return r;
}

/* A class with one method, m()V or another, that lies at an address. */
static inline void class_with(struct buf *b, int flags, uint64_t time, const char *name, const char *method_name,
			      const char *signature, uint64_t method, uint64_t addr)
{
	size_t at = begin(b, WIRE_CLASS_LOAD, flags, time);

	put(b, 1, 8);
	put(b, 0, 8);
	put_str(b, name);
	put_str(b, NULL);
	put(b, 1, 4);
	put(b, method, 8);
	put(b, 0, 8);
	put_str(b, method_name);
	put_str(b, signature);
	put(b, 1, 4);
	put(b, addr, 8);
	end(b, at);
}

static inline void class_at(struct buf *b, int flags, uint64_t time, const char *name, uint64_t method, uint64_t addr)
{
	class_with(b, flags, time, name, "m", "()V", method, addr);
}

#endif
