#include "sampler/daemon/identity/pairs.h"

#include <stdint.h>
#include <string.h>

#include "symbolizer/base/parse.h"
#include "symbolizer/base/text.h"

enum { VALUE_MAX = 1024 };

/* The value of a string that begins with "KEY="; *ret_len: up to the NUL, or to the end. */
static const char *find(const char *text, size_t len, const char *key, size_t *ret_len)
{
	size_t key_len = strlen(key), n;

	for (const char *end = text + len; text < end; text += n + 1) {
		n = strnlen(text, (size_t)(end - text));
		if (n <= key_len || text[key_len] != '=' || memcmp(text, key, key_len) != 0)
			continue;
		*ret_len = n - key_len - 1;
		return text + key_len + 1;
	}
	return NULL;
}

bool pairs_find(const char *text, size_t len, const char *key, char *dst, size_t size)
{
	size_t n;
	const char *value = find(text, len, key, &n);

	return value && text_sanitise(dst, size, value, n) > 0;
}

static void trim(const char **s, const char **end)
{
	while (*s < *end && (**s == ' ' || **s == '\t'))
		++*s;
	while (*s < *end && ((*end)[-1] == ' ' || (*end)[-1] == '\t'))
		--*end;
}

/* false: a '%' without two hex digits. A value that is too long is cut. */
static bool decode(const char *s, const char *end, char *dst, size_t *ret_len)
{
	size_t n = 0;

	for (; s < end; s++) {
		uint64_t c = (unsigned char)*s;
		const char *digits = s + 1;

		if (*s == '%') {
			if (end - s < 3 || parse_digits(&digits, s + 3, 16, &c) < 0 || digits != s + 3)
				return false;
			s += 2;
		}
		if (n < VALUE_MAX)
			dst[n++] = (char)c;
	}
	*ret_len = n;
	return true;
}

struct wanted {
	const char *key;
	char *dst;
	size_t size;
	bool found;
};

/* Reads one pair of a list. false: malformed. */
static bool read_pair(const char *s, const char *end, struct wanted *w)
{
	const char *equals = memchr(s, '=', (size_t)(end - s)), *key_end = equals;
	char value[VALUE_MAX];
	size_t n;

	if (!equals)
		return false;
	trim(&s, &key_end);
	equals++;
	trim(&equals, &end);
	if (s == key_end || !decode(equals, end, value, &n))
		return false;
	if (!w->found && strlen(w->key) == (size_t)(key_end - s) && memcmp(w->key, s, (size_t)(key_end - s)) == 0)
		w->found = text_sanitise(w->dst, w->size, value, n) > 0;
	return true;
}

bool pairs_attribute(const char *list, size_t len, const char *key, char *dst, size_t size)
{
	struct wanted w = {key, dst, size, false};

	for (const char *end = list + len, *comma; list < end; list = comma + 1) {
		comma = memchr(list, ',', (size_t)(end - list));
		if (!comma)
			comma = end;
		if (!read_pair(list, comma, &w))
			return false;
	}
	return w.found;
}

bool pairs_find_attribute(const char *text, size_t len, const char *name, const char *key, char *dst, size_t size)
{
	size_t n;
	const char *list = find(text, len, name, &n);

	return list && pairs_attribute(list, n, key, dst, size);
}
