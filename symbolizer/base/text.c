#include "symbolizer/base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * The length of the UTF-8 character at s (of `len` bytes, at least 1), and the character; 0: not UTF-8.
 * Overlong forms, surrogates and everything above U+10FFFF are not UTF-8 (RFC 3629).
 */
static size_t utf8_decode(const uint8_t *s, size_t len, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
	uint32_t c = n <= 1 ? s[0] : s[0] & (0x7f >> n);

	if (n == 0 || n > len)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return n;
}

/* Characters that move the cursor, end the line or change the text direction. */
static bool is_unsafe(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) /* C0, DEL, C1 */
	       || c == 0x61c || c == 0x200e || c == 0x200f /* marks: ALM, LRM, RLM */
	       || (c >= 0x2028 && c <= 0x202e) /* separators, embeddings, overrides */
	       || (c >= 0x2066 && c <= 0x2069); /* isolates */
}

size_t text_sanitise(char *dst, size_t size, const char *src, size_t len)
{
	const uint8_t *s = (const uint8_t *)src;
	size_t out = 0;

	if (size == 0)
		return 0;
	for (size_t i = 0, n; i < len; i += n) {
		uint32_t c = 0;
		bool bad;

		n = utf8_decode(s + i, len - i, &c);
		bad = n == 0 || is_unsafe(c);
		if (n == 0)
			n = 1;
		if (out + (bad ? 1 : n) >= size)
			break;
		if (bad)
			dst[out++] = '?';
		else
			memmove(dst + out, src + i, n), out += n;
	}
	dst[out] = '\0';
	return out;
}

size_t text_characters(const char *s, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)s[i] & 0xc0) != 0x80;
	return n;
}

char *text_line(char **p, char *end)
{
	char *line = *p, *eol;

	if (line >= end)
		return NULL;
	eol = memchr(line, '\n', (size_t)(end - line));
	if (!eol)
		eol = end;
	*eol = '\0';
	*p = eol + 1;
	return line;
}

char *text_copy(const char *text, size_t len)
{
	char *copy = malloc(len + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}
