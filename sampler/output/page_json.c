#include "sampler/output/page_json.h"

#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/text.h"

static void put_escaped(FILE *out, const char *s, size_t len)
{
	size_t clean = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = s[i];

		if (c >= 0x20 && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&')
			continue;
		fwrite(s + clean, 1, i - clean, out);
		fprintf(out, "\\u%04x", c);
		clean = i + 1;
	}
	fwrite(s + clean, 1, len - clean, out);
}

/* The longest part of s, at most max bytes, that ends with a character. */
static size_t whole_characters(const char *s, size_t len, size_t max)
{
	size_t n = len < max ? len : max;

	if (n == len)
		return n;
	for (size_t back = 0; back < 4 && back < n; back++)
		if ((s[n - back] & 0xc0) != 0x80)
			return n - back;
	return n;
}

void page_json_string(FILE *out, const char *s, size_t len)
{
	char piece[1024];

	fputc('"', out);
	while (len) {
		size_t n = whole_characters(s, len, sizeof(piece) - 1);

		put_escaped(out, piece, text_sanitise(piece, sizeof(piece), s, n));
		s += n;
		len -= n;
	}
	fputc('"', out);
}

static void put_group(struct page_packer *p)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t v = (uint32_t)p->pending[0] << 16 | p->pending[1] << 8 | p->pending[2];
	char text[4] = {digits[v >> 18], digits[v >> 12 & 63], '=', '='};

	if (p->n > 1)
		text[2] = digits[v >> 6 & 63];
	if (p->n > 2)
		text[3] = digits[v & 63];
	fwrite(text, 1, sizeof(text), p->out);
	memset(p->pending, 0, sizeof(p->pending));
	p->n = 0;
}

static void put_byte(struct page_packer *p, uint8_t byte)
{
	p->pending[p->n++] = byte;
	if (p->n == sizeof(p->pending))
		put_group(p);
}

void page_packer_add(struct page_packer *p, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		put_byte(p, (value & 0x7f) | 0x80);
	put_byte(p, value);
}

void page_packer_end(struct page_packer *p)
{
	if (p->n)
		put_group(p);
}
