#include "sampler/output/columns.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { NARROWEST = 40 };

/* Decodes the character at *p, which is not NUL, and advances *p. */
static uint32_t next_char(const char **p)
{
	const unsigned char *s = (const unsigned char *)*p;
	size_t more = s[0] < 0x80 ? 0 : s[0] >= 0xf0 ? 3 : s[0] >= 0xe0 ? 2 : s[0] >= 0xc0 ? 1 : 0;
	uint32_t c = more ? s[0] & (0x3fu >> more) : s[0];
	size_t i;

	for (i = 1; i <= more && (s[i] & 0xc0) == 0x80; i++)
		c = c << 6 | (s[i] & 0x3f);
	*p += i;
	return c;
}

/* East Asian Width W and F, roughly, and emoji (Unicode annex 11); combining marks take none. */
static size_t char_columns(uint32_t c)
{
	if (c >= 0x300 && c <= 0x36f)
		return 0;
	return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) || (c >= 0xac00 && c <= 0xd7a3) ||
			       (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) ||
			       (c >= 0xff00 && c <= 0xff60) || (c >= 0x1f300 && c <= 0x1faff) ||
			       (c >= 0x20000 && c <= 0x3fffd) ?
		       2 :
		       1;
}

size_t columns_of(const char *text)
{
	size_t n = 0;

	while (*text)
		n += char_columns(next_char(&text));
	return n;
}

size_t columns_of_terminal(int fd)
{
	struct winsize w = {0};

	if (!isatty(fd))
		return 0;
	return ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col >= NARROWEST ? w.ws_col : COLUMNS;
}

/* Length in bytes of the longest start of `text` that fits in `columns` and `bytes`. */
static size_t head_bytes(const char *text, size_t columns, size_t bytes)
{
	const char *p = text, *fits = text;
	size_t n = 0;

	while (*p) {
		n += char_columns(next_char(&p));
		if (n > columns || (size_t)(p - text) > bytes)
			break;
		fits = p;
	}
	return (size_t)(fits - text);
}

void columns_fit(char *dst, size_t size, const char *text, size_t columns, bool keep_end)
{
	size_t all = columns_of(text), room = columns > 2 ? columns - 2 : 0;
	const char *tail = text;

	if (all <= columns && strlen(text) < size) {
		memcpy(dst, text, strlen(text) + 1);
		return;
	}
	if (size < 4) {
		dst[0] = '\0';
		return;
	}
	if (!keep_end) {
		size_t n = head_bytes(text, room, size - 3);

		snprintf(dst, size, "%.*s..", (int)n, text);
		return;
	}
	while (*tail && (all > room || strlen(tail) > size - 3))
		all -= char_columns(next_char(&tail));
	snprintf(dst, size, "..%s", tail);
}

/* Width of the next word, which has `bytes` bytes. */
static size_t word_columns(const char *text, size_t bytes)
{
	const char *p = text;
	size_t n = 0;

	while (p < text + bytes)
		n += char_columns(next_char(&p));
	return n;
}

/* "12.3 %" and the word after it stay on one line. */
static bool belongs_to_word_before(const char *text)
{
	size_t n = strcspn(text, " ");

	return *text == '%' || (*text >= '0' && *text <= '9' && text[n] == ' ' && text[n + 1] == '%');
}

static size_t word_bytes(const char *text)
{
	size_t n = strcspn(text, " ");

	while (text[n] == ' ' && belongs_to_word_before(text + n + 1))
		n += 1 + strcspn(text + n + 1, " ");
	return n;
}

void columns_wrap(FILE *out, const char *text, size_t used, size_t indent, size_t width)
{
	size_t room = width > indent + 1 ? width - indent - 1 : SIZE_MAX, col = used;
	bool first = true;

	while (*text) {
		size_t bytes = word_bytes(text), columns = word_columns(text, bytes);

		/* A word that is wider than a line is broken at the end of the line. */
		if (columns > room) {
			bytes = head_bytes(text, room, bytes);
			columns = word_columns(text, bytes);
		}
		if (width && !first && col + 1 + columns >= width) {
			fprintf(out, "\n%*s", (int)indent, "");
			col = indent;
			first = true;
		}
		fprintf(out, "%s%.*s", first ? "" : " ", (int)bytes, text);
		col += !first + columns;
		first = false;
		text += bytes;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

bool columns_live_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}
