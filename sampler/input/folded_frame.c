#include "sampler/input/folded_frame.h"

#include <stdbool.h>
#include <string.h>

#include "sampler/model/frame_key.h"
#include "sampler/model/named_profile.h"
#include "sampler/model/raw_sample.h"

enum { SUFFIX = 4 }; /* bytes of "_[j]" */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool text_is(const char *text, size_t len, const char *s)
{
	return strlen(s) == len && !memcmp(text, s, len);
}

/* A number as jsampler prints it: no sign, no leading zero, 1 to INT32_MAX; 0: not such a number. */
static int32_t number(const char *s, size_t len)
{
	int64_t v = 0;

	if (!len || len > 10 || *s == '0')
		return 0;
	for (size_t i = 0; i < len; i++) {
		if (!is_digit(s[i]))
			return 0;
		v = v * 10 + (s[i] - '0');
	}
	return v <= INT32_MAX ? (int32_t)v : 0;
}

/* Start of the number at the end of the text. */
static size_t digits_at(const char *text, size_t len)
{
	while (len && is_digit(text[len - 1]))
		len--;
	return len;
}

/* Cuts ":LINE" off. */
static void take_line(const char *text, struct folded_frame *f)
{
	size_t at = digits_at(text, f->name_len);

	if (at < 2 || text[at - 1] != ':')
		return;
	f->line = number(text + at, f->name_len - at);
	if (f->line)
		f->name_len = at - 1;
}

static bool take_suffix(const char *text, struct folded_frame *f)
{
	static const struct {
		char letter;
		uint8_t kind, tier;
	} suffixes[] = {
		{'0', NAMED_INTERPRETED, 0}, {'1', NAMED_C1, 0},     {'j', NAMED_C2, 4},
		{'i', NAMED_INLINED, 0},     {'k', NAMED_KERNEL, 0},
	};
	const char *s = text + f->name_len - SUFFIX;

	/* Names in brackets are printed without a suffix. */
	if (f->name_len <= SUFFIX || *text == '[' || s[0] != '_' || s[1] != '[' || s[3] != ']')
		return false;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (s[2] != suffixes[i].letter)
			continue;
		f->kind = suffixes[i].kind;
		f->tier = suffixes[i].tier;
		f->name_len -= SUFFIX;
		return true;
	}
	return false;
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$' || c == '+' ||
	       c == '-' || (unsigned char)c >= 0x80;
}

/* package/Class.method, or Class.method without a package; a method may be <init>. */
static bool reads_like_java(const char *text, size_t len)
{
	const char *dot = memrchr(text, '.', len);
	bool slash = false;

	if (!dot || dot == text || dot + 1 == text + len)
		return false;
	for (const char *p = text; p < text + len; p++) {
		slash |= *p == '/' && p < dot;
		if (p == dot || (*p == '/' && p < dot) || is_name_char(*p))
			continue;
		if ((*p == '<' && p == dot + 1) || (*p == '>' && p == text + len - 1))
			continue;
		return false;
	}
	return slash ? *text != '/' : *text >= 'A' && *text <= 'Z';
}

static uint8_t bracket_kind(const char *text, size_t len)
{
	for (int mark = 0; mark < FRAME_MARKS; mark++) {
		const char *s = frame_mark_text(mark);

		if (s && text_is(text, len, s))
			return NAMED_MARK;
	}
	if (text_is(text, len, "[virtual]") || (len > 9 && !memcmp(text, "[virtual ", 9)))
		return NAMED_MARK;
	if (text_is(text, len, "[kernel]"))
		return NAMED_KERNEL;
	return text_is(text, len, "[unknown]") ? NAMED_UNKNOWN : NAMED_NATIVE;
}

struct folded_frame folded_frame_parse(const char *text, size_t len)
{
	struct folded_frame f = {.name_len = len, .kind = NAMED_NATIVE};
	struct folded_frame bare;

	if (!len)
		return (struct folded_frame){.kind = NAMED_UNKNOWN};
	if (*text == '[') {
		f.kind = bracket_kind(text, len);
		return f;
	}
	if (take_suffix(text, &f)) {
		if (f.kind != NAMED_KERNEL)
			take_line(text, &f);
		return f;
	}
	bare = f;
	take_line(text, &bare);
	if (!reads_like_java(text, bare.name_len))
		return f;
	bare.kind = NAMED_UNKNOWN;
	return bare;
}

/* "[name tid=7]" or "[tid=7]"; key: "tid=". */
static bool take_id(const char *text, size_t len, const char *key, struct folded_root *ret)
{
	size_t at = digits_at(text, len - 1), n = strlen(key);

	if (at < n + 1 || memcmp(text + at - n, key, n))
		return false;
	ret->id = number(text + at, len - 1 - at);
	at -= n;
	if (!ret->id || (at > 1 && text[at - 1] != ' '))
		return false;
	ret->name = text + 1;
	ret->name_len = at > 1 ? at - 2 : 0;
	return true;
}

/* "[state]" */
static bool is_state(const char *text, size_t len)
{
	for (int state = 0; state < THREAD_STATES; state++)
		if (text_is(text + 1, len - 2, thread_state_name(state)))
			return true;
	return false;
}

struct folded_root folded_root_parse(const char *text, size_t len)
{
	struct folded_root r = {.kind = NAMED_UNKNOWN};

	if (len < 3 || *text != '[' || text[len - 1] != ']')
		return r;
	if (take_id(text, len, "tid=", &r)) {
		r.kind = NAMED_THREAD;
	} else if (take_id(text, len, "pid=", &r)) {
		r.kind = NAMED_PROCESS;
	} else if (is_state(text, len)) {
		r.kind = NAMED_STATE;
		r.name = text + 1;
		r.name_len = len - 2;
	}
	return r;
}
