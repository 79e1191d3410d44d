#ifndef JS_HOTSPOT_UTF8_H
#define JS_HOTSPOT_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Texts of the JVM as UTF-8. Bytes written without NUL (always NUL-terminated), -1: no such text. dst holds
 * 3 n / 2 + 1. */
long utf8_from_modified(char *dst, size_t size, const uint8_t *src, size_t n);
size_t utf8_from_utf16(char *dst, size_t size, const uint8_t *src, size_t units);
size_t utf8_from_latin1(char *dst, size_t size, const uint8_t *src, size_t n);

#endif
