#include "symbolizer/patterns/glob.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "symbolizer/base/err.h"

int glob_check(const char *pattern, struct err *err)
{
	size_t n = strlen(pattern), slashes = 0;

	if (!n)
		return err_set(err, -EINVAL, "the pattern is empty; '*' stands for any text");
	if (n > GLOB_MAX)
		return err_set(err, -EINVAL, "'%.40s...': a pattern has at most %d bytes", pattern, GLOB_MAX);
	while (slashes < n && pattern[n - 1 - slashes] == '\\')
		slashes++;
	if (slashes % 2)
		return err_set(err, -EINVAL, "'%s' ends with a backslash; '\\\\' stands for one", pattern);
	return 0;
}

/* The next character of UTF-8 text, or the next byte of other text. */
static const char *next(const char *text)
{
	text++;
	while ((*text & 0xc0) == 0x80)
		text++;
	return text;
}

/* Matches one pattern character other than '*'. If it matches, moves both pointers on. */
static bool step(const char **pattern, const char **text)
{
	const char *p = *pattern;

	if (*p == '?') {
		*text = next(*text);
		*pattern = p + 1;
		return true;
	}
	if (*p == '\\' && p[1])
		p++;
	if (*p != **text)
		return false;
	*pattern = p + 1;
	++*text;
	return true;
}

/* Tries the part after the last star at each later position. Earlier stars need not be tried again. */
bool glob_matches(const char *pattern, const char *text)
{
	const char *behind_star = NULL, *tried = NULL;

	while (*text) {
		if (*pattern == '*') {
			behind_star = ++pattern;
			tried = text;
		} else if (!*pattern || !step(&pattern, &text)) {
			if (!behind_star)
				return false;
			pattern = behind_star;
			text = tried = next(tried);
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}
