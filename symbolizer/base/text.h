#ifndef JS_BASE_TEXT_H
#define JS_BASE_TEXT_H

#include <stddef.h>

/*
 * Makes foreign text fit for a terminal, a log line or a text output: valid UTF-8, in which each control character
 * (C0, including ESC and line breaks, DEL, C1), line separator and bidirectional control, and each
 * byte that is not UTF-8, is replaced by '?'.
 * Writes at most size - 1 bytes and a NUL (nothing if size is 0), and never a part of a character.
 * Returns the bytes written without the NUL; never more than `len`, so size = len + 1 is enough.
 * dst may be src.
 */
size_t text_sanitise(char *dst, size_t size, const char *src, size_t len);

/* Number of characters in UTF-8. */
size_t text_characters(const char *s, size_t len);

/*
 * Returns the line at *p, NUL-terminated in place, and moves *p past it. The byte at `end` must be writable. NULL: no
 * more lines.
 */
char *text_line(char **p, char *end);
/* The caller frees it. NULL: out of memory. */
char *text_copy(const char *text, size_t len);

#endif
