#ifndef JS_HOTSPOT_UTF8_H
#define JS_HOTSPOT_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * Convert texts of the JVM to UTF-8. Return the bytes written, not counting the NUL that always follows; -1: malformed.
 * dst must have room for 3 n / 2 + 1.
 */
long utf8_from_modified(char *dst, size_t size, const uint8_t *src, size_t n);
size_t utf8_from_utf16(char *dst, size_t size, const uint8_t *src, size_t units);
size_t utf8_from_latin1(char *dst, size_t size, const uint8_t *src, size_t n);

#endif
