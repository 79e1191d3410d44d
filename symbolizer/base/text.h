#ifndef JS_BASE_TEXT_H
#define JS_BASE_TEXT_H

#include <stddef.h>

/*
 * Foreign text made fit for a terminal, a log line or a text output: valid UTF-8, where each control
 * (C0, DEL, C1, so ESC and line breaks too), line separator and bidirectional code point, and each
 * byte that is not UTF-8, became '?'. Everything else is unchanged.
 * Writes at most size - 1 bytes and a NUL (nothing when size is 0), never a part of a character.
 * Returns the bytes written without the NUL; never more than `len`, so size = len + 1 is enough.
 * dst may be src.
 */
size_t text_sanitise(char *dst, size_t size, const char *src, size_t len);

#endif
