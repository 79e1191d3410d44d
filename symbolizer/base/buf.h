#ifndef JS_BASE_BUF_H
#define JS_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A growing byte string. After an allocation failure `failed` stays set and further additions do nothing, so a caller
 * checks once, at the end. `data` has a NUL after its `len` bytes, or is NULL while empty. Zero-initialise; buf_done()
 * releases.
 */
struct buf {
	char *data;
	size_t len, cap;
	bool failed;
};

void buf_add(struct buf *b, const void *bytes, size_t len);
void buf_add_z(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds `len` bytes that the caller then sets. NULL: out of memory. */
char *buf_extend(struct buf *b, size_t len);
void buf_cut(struct buf *b, size_t len); /* to at most its first `len` bytes */
void buf_reset(struct buf *b);
void buf_done(struct buf *b);

#endif
