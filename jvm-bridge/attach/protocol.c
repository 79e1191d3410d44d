#include "jvm-bridge/attach/protocol.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/buf.h"

static void add_text(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s) + 1);
}

int attach_request_v1(struct buf *b, const char *command, const char *const *args, size_t n)
{
	if (n > ATTACH_ARGS_V1)
		return -E2BIG;
	for (size_t i = 0; i < n; i++)
		if (strlen(args[i]) > ATTACH_ARG_V1)
			return -E2BIG;
	add_text(b, "1");
	add_text(b, command);
	for (size_t i = 0; i < ATTACH_ARGS_V1; i++)
		add_text(b, i < n ? args[i] : "");
	return b->failed ? -ENOMEM : 0;
}

int attach_request_v2(struct buf *b, const char *command, const char *const *args, size_t n)
{
	size_t len = strlen(command) + 1;
	char number[24];

	if (n > ATTACH_ARGS)
		return -E2BIG;
	for (size_t i = 0; i < n; i++)
		len += strlen(args[i]) + 1;
	if (len > ATTACH_BYTES_V2)
		return -E2BIG;
	snprintf(number, sizeof(number), "%zu", len);
	add_text(b, "2");
	add_text(b, number);
	add_text(b, command);
	for (size_t i = 0; i < n; i++)
		add_text(b, args[i]);
	return b->failed ? -ENOMEM : 0;
}

/* A decimal number that fills the line; *ret_end: after the line. */
static bool number_line(const char *s, int *ret, const char **ret_end)
{
	char *end;
	long v;

	if (*s != '-' && (*s < '0' || *s > '9'))
		return false;
	v = strtol(s, &end, 10);
	if (end == s || (*end != '\n' && *end != '\0') || v < -99999 || v > 99999)
		return false;
	*ret = (int)v;
	*ret_end = *end ? end + 1 : end;
	return true;
}

int attach_answer_code(const char *answer, int *ret, const char **ret_text)
{
	if (!answer || !*answer)
		return -EPIPE;
	return number_line(answer, ret, ret_text) ? 0 : -EPROTO;
}

int attach_answer_version(const char *answer)
{
	const char *text;
	int code;

	if (attach_answer_code(answer, &code, &text) < 0 || code != 0)
		return 1;
	return text[0] >= '2' && text[0] <= '9' ? text[0] - '0' : 1;
}

static void one_line(char *dst, size_t size, const char *s)
{
	size_t n = 0;

	for (; *s && n + 1 < size; s++)
		if (*s != '\n') {
			dst[n++] = *s;
		} else if (s[1]) {
			n -= n && dst[n - 1] == '.'; /* the sentence continues */
			n += (size_t)snprintf(dst + n, size - n, ": ") < size - n ? 2 : 0;
		}
	dst[n] = '\0';
}

/* "return code: N" (9 and later), or just the number (8). The JVM's warnings may follow. */
static bool find_return_code(const char *text, int *ret)
{
	static const char label[] = "return code: ";
	const char *end;

	if (number_line(text, ret, &end))
		return true;
	for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL)
		if (strncmp(line, label, sizeof(label) - 1) == 0 && number_line(line + sizeof(label) - 1, ret, &end))
			return true;
	return false;
}

int attach_answer_load(const char *answer, int *ret, char *why, size_t size)
{
	const char *text;
	int code, r = attach_answer_code(answer, &code, &text);

	why[0] = '\0';
	if (r < 0)
		return r;
	if (code == 0 && find_return_code(text, ret))
		return 0;
	/* Since 21 the code is 0 even if the library was not found. */
	one_line(why, size, text);
	return -ENOEXEC;
}
