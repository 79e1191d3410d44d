#include "symbolizer/base/json.h"

#include <string.h>

#include "symbolizer/base/text.h"

static void new_line(struct json *j)
{
	if (j->line || j->indent)
		fputc('\n', j->out);
	for (unsigned i = 0; i < j->depth * j->indent; i++)
		fputc(' ', j->out);
	j->line = false;
}

static void begin_element(struct json *j)
{
	if (j->comma)
		fputc(',', j->out);
	if (!j->key && (j->depth || j->line))
		new_line(j);
	j->comma = true;
	j->key = false;
}

void json_open(struct json *j, char bracket)
{
	begin_element(j);
	fputc(bracket, j->out);
	j->comma = false;
	j->depth++;
}

void json_close(struct json *j, char bracket)
{
	j->depth--;
	if (j->line || j->comma)
		new_line(j);
	fputc(bracket, j->out);
	j->comma = true;
}

void json_line(struct json *j)
{
	j->line = true;
}

void json_key(struct json *j, const char *key)
{
	begin_element(j);
	fprintf(j->out, j->indent ? "\"%s\": " : "\"%s\":", key);
	j->comma = false;
	j->key = true;
}

/* A profile has millions of numbers; fprintf() would take most of the time. */
static void put_digits(FILE *out, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	fwrite(digits + at, 1, sizeof(digits) - at, out);
}

void json_uint(struct json *j, uint64_t value)
{
	begin_element(j);
	put_digits(j->out, value);
}

void json_int(struct json *j, int64_t value)
{
	begin_element(j);
	if (value < 0)
		fputc('-', j->out);
	put_digits(j->out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void json_bool(struct json *j, bool value)
{
	json_raw(j, value ? "true" : "false");
}

void json_raw(struct json *j, const char *s)
{
	begin_element(j);
	fputs(s, j->out);
}

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

/* The length of the longest prefix of s, of at most max bytes, that does not cut a character. */
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

static void put_text(FILE *out, const char *s, size_t len)
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

void json_text(struct json *j, const char *s)
{
	begin_element(j);
	put_text(j->out, s ? s : "", s ? strlen(s) : 0);
}

void json_member_open(struct json *j, const char *key, char bracket)
{
	json_key(j, key);
	json_open(j, bracket);
}

void json_member_bool(struct json *j, const char *key, bool value)
{
	json_key(j, key);
	json_bool(j, value);
}

void json_member_uint(struct json *j, const char *key, uint64_t value)
{
	json_key(j, key);
	json_uint(j, value);
}

void json_member_text(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	json_text(j, s);
}
