#include "symbolizer/hotspot/reader/utf8.h"

#include <stdbool.h>

static size_t put(char *dst, size_t at, size_t size, uint32_t c)
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	if (at + n >= size)
		return 0;
	switch (n) {
	case 1: dst[at] = (char)c; break;
	case 2: dst[at] = (char)(0xc0 | c >> 6); break;
	case 3: dst[at] = (char)(0xe0 | c >> 12); break;
	default: dst[at] = (char)(0xf0 | c >> 18);
	}
	for (size_t i = 1; i < n; i++)
		dst[at + i] = (char)(0x80 | (c >> (6 * (n - 1 - i)) & 0x3f));
	return n;
}

static bool is_high(uint32_t c)
{
	return c >= 0xd800 && c < 0xdc00;
}

static bool is_low(uint32_t c)
{
	return c >= 0xdc00 && c < 0xe000;
}

/* Appends a UTF-16 unit. A high surrogate stays in *pending until its other half follows. */
static size_t put_unit(char *dst, size_t at, size_t size, uint32_t unit, uint32_t *pending)
{
	size_t n = 0;

	if (*pending && is_low(unit)) {
		uint32_t c = 0x10000 + ((*pending - 0xd800) << 10) + (unit - 0xdc00);

		*pending = 0;
		return put(dst, at, size, c);
	}
	if (*pending)
		n = put(dst, at, size, 0xfffd);
	*pending = 0;
	if (is_high(unit))
		*pending = unit;
	else
		n += put(dst, at + n, size, is_low(unit) ? 0xfffd : unit);
	return n;
}

/* Decodes one to three bytes of modified UTF-8 (JVM specification 4.4.7); 0: malformed. */
static size_t unit_decode(const uint8_t *s, size_t n, uint32_t *ret)
{
	if (s[0] < 0x80) {
		*ret = s[0];
		return 1;
	}
	if (s[0] >> 5 == 6 && n >= 2 && s[1] >> 6 == 2) {
		*ret = (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
		return 2;
	}
	if (s[0] >> 4 == 14 && n >= 3 && s[1] >> 6 == 2 && s[2] >> 6 == 2) {
		*ret = (s[0] & 0xfu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
		return 3;
	}
	return 0;
}

long utf8_from_modified(char *dst, size_t size, const uint8_t *src, size_t n)
{
	uint32_t unit = 0, pending = 0;
	size_t at = 0;

	if (size == 0)
		return -1;
	for (size_t i = 0, used; i < n; i += used) {
		used = unit_decode(src + i, n - i, &unit);
		/* A 0 byte never occurs; the character 0 is C0 80. */
		if (used == 0 || (used == 1 && unit == 0))
			return -1;
		at += put_unit(dst, at, size, unit == 0 ? 0xfffd : unit, &pending);
	}
	if (pending)
		at += put(dst, at, size, 0xfffd);
	dst[at] = 0;
	return (long)at;
}

size_t utf8_from_utf16(char *dst, size_t size, const uint8_t *src, size_t units)
{
	uint32_t pending = 0;
	size_t at = 0;

	if (size == 0)
		return 0;
	for (size_t i = 0; i < units; i++) {
		uint32_t unit = src[2 * i] | (uint32_t)src[2 * i + 1] << 8;

		at += put_unit(dst, at, size, unit ? unit : 0xfffd, &pending);
	}
	if (pending)
		at += put(dst, at, size, 0xfffd);
	dst[at] = 0;
	return at;
}

size_t utf8_from_latin1(char *dst, size_t size, const uint8_t *src, size_t n)
{
	size_t at = 0;

	if (size == 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		at += put(dst, at, size, src[i] ? src[i] : 0xfffd);
	dst[at] = 0;
	return at;
}
