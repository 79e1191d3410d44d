#include <string.h>

#include "symbolizer/hotspot/methods/compile_state.h"
#include "symbolizer/hotspot/methods/method.h"

/*
 * Patterns of -XX:CompileCommand (compiler/methodMatcher.cpp, compilerOracle.cpp, JDK 17 and 25):
 *   exclude,java/util/Foo.bar   exclude java.util.Foo::bar   exclude,*Foo.b*,(I)V
 * "::" separates class and method, otherwise a comma or a blank, otherwise the last dot; each may begin and end with
 * one `*`. The class may have dots instead of slashes. A signature may follow.
 */
struct pattern_part {
	const char *s;
	size_t n;
};

static bool char_is(char wanted, char c)
{
	return wanted == c || (wanted == '.' && c == '/');
}

static bool text_is(const char *pattern, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!char_is(pattern[i], text[i]))
			return false;
	return true;
}

static bool piece_is(struct pattern_part p, const char *text)
{
	size_t len = strlen(text);
	bool open_begin = p.n && p.s[0] == '*', open_end;

	p.s += open_begin;
	p.n -= open_begin;
	open_end = p.n && p.s[p.n - 1] == '*';
	p.n -= open_end;
	if (p.n > len || (!open_begin && !open_end && p.n != len))
		return !p.n && open_begin;
	if (open_begin && !open_end)
		return text_is(p.s, text + len - p.n, p.n);
	for (size_t at = 0; at <= (open_begin ? len - p.n : 0); at++)
		if (text_is(p.s, text + at, p.n))
			return true;
	return false;
}

static bool is_blank(char c)
{
	return c == ',' || c == ' ' || c == '\t';
}

static size_t word(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && !is_blank(s[i]))
		i++;
	return i;
}

static struct pattern_part behind(struct pattern_part p, size_t skip)
{
	while (skip < p.n && is_blank(p.s[skip]))
		skip++;
	return (struct pattern_part){p.s + skip, p.n - skip};
}

/* Splits "Foo::bar" or "Foo.bar" in one word. false: there is only a class. */
static bool split(struct pattern_part both, struct pattern_part *cls, struct pattern_part *method)
{
	for (size_t i = 0; i + 1 < both.n; i++)
		if (both.s[i] == ':' && both.s[i + 1] == ':') {
			*cls = (struct pattern_part){both.s, i};
			*method = (struct pattern_part){both.s + i + 2, both.n - i - 2};
			return true;
		}
	for (size_t i = both.n; i > 0; i--)
		if (both.s[i - 1] == '.') {
			*cls = (struct pattern_part){both.s, i - 1};
			*method = (struct pattern_part){both.s + i, both.n - i};
			return true;
		}
	*cls = both;
	return false;
}

static bool pattern_is(struct pattern_part p, const struct hs_method *m)
{
	struct pattern_part cls, method, first;
	size_t n = word(p.s, p.n);
	const char *open = memchr(p.s, '(', n);

	if (open)
		n = (size_t)(open - p.s);
	first = (struct pattern_part){p.s, n};
	p = behind(p, n);
	if (!split(first, &cls, &method)) {
		n = word(p.s, p.n);
		method = (struct pattern_part){p.s, n};
		p = behind(p, n);
	}
	if (!cls.n || !method.n || !piece_is(cls, m->class_name) || !piece_is(method, m->name))
		return false;
	/* A signature is a prefix: "(I" matches like "(I*" (Symbol::starts_with). */
	return !p.n || p.s[0] != '(' || !strncmp(m->signature, p.s, word(p.s, p.n));
}

static bool excludes(struct pattern_part line, const struct hs_method *m)
{
	static const char command[] = "exclude";
	size_t n;

	line = behind(line, 0);
	n = word(line.s, line.n);
	if (n != sizeof(command) - 1 || memcmp(line.s, command, n) != 0)
		return false;
	return pattern_is(behind(line, n), m);
}

const char *compile_command_exclude(const char *commands, const struct hs_method *m, size_t *ret_len)
{
	while (*commands) {
		size_t n = strcspn(commands, "\n");

		if (excludes((struct pattern_part){commands, n}, m)) {
			*ret_len = n;
			return commands;
		}
		commands += n + (commands[n] == '\n');
	}
	return NULL;
}
