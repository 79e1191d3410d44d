#include "symbolizer/native/names/demangle.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/native/names/suffix.h"

enum { EXPANDED_MAX = 16 << 20, REPARSED_MAX = 8 };

/* Itanium C++ ABI, section 3.4. libstdc++ has no C header for it. */
char *__cxa_demangle(const char *mangled, char *buf, size_t *len, int *status);

/*
 * Back references (S0_, T_, ...) can double the text again and again, so that a short name may expand to gigabytes.
 * They multiply only when nested, and a level that multiplies by k needs k references: n of them multiply by at most
 * 3^(n/3).
 */
static bool expands_too_much(const char *name)
{
	uint64_t bound = strlen(name);
	unsigned refs = 0;
	const char *p;

	for (p = name; *p; p++)
		if ((*p == 'S' || *p == 'T') &&
		    (p[1] == '_' || isdigit((unsigned char)p[1]) || isupper((unsigned char)p[1])))
			refs++;
	for (; refs >= 3 && bound <= EXPANDED_MAX; refs -= 3)
		bound *= 3;
	return bound > EXPANDED_MAX;
}

/*
 * In the target type of a conversion operator, the demangler does not know whether arguments after a template parameter
 * (T_I...E) belong to the parameter or the operator. It parses them, and once more if its guess was wrong, so that each
 * nested level doubles the time (libiberty's cp-demangle.c, cplus_demangle_type). Of 130,000 names of libstdc++, LLVM,
 * Boost and HotSpot, none exceeds this limit.
 */
static bool parses_again_and_again(const char *name)
{
	const char *p = strstr(name, "cv");
	unsigned n = 0;

	while (p && (p = strstr(p, "_I"))) {
		n++;
		p += 2;
	}
	return n > REPARSED_MAX;
}

/*
 * Returns a pointer past the bracket that closes the one at `p`; NULL: it is not closed. The `>` of `->` is not a
 * bracket; callers skip names of operators first.
 */
static const char *skip_brackets(const char *p)
{
	char stack[256];
	unsigned n = 0;

	for (; *p; p++) {
		const char *open = strchr("(<[{", *p), *close = strchr(")>]}", *p);

		if (*p == '>' && p[-1] == '-')
			continue;
		if (open) {
			if (n == sizeof(stack))
				return NULL;
			stack[n++] = ")>]}"[open - "(<[{"];
		} else if (close) {
			/* `operator<` in a template argument, or a comparison: unbalanced '<'. */
			while (n && stack[n - 1] == '>' && *p != '>')
				n--;
			if (n && stack[n - 1] == *p)
				n--;
			else if (*p != '>')
				return NULL;
			if (!n)
				return p + 1;
		}
	}
	return NULL;
}

static bool starts_word(const char *start, const char *p, const char *word)
{
	size_t len = strlen(word);

	return !strncmp(p, word, len) && (p == start || !(isalnum((unsigned char)p[-1]) || p[-1] == '_')) &&
	       !(isalnum((unsigned char)p[len]) || p[len] == '_');
}

/* Returns a pointer past an operator's name. Conversions (`operator unsigned int`) end at their parameters. */
static const char *skip_operator(const char *p)
{
	static const char *const symbols[] = {
		"()", "[]", "<=>", "->*", "->", "<<=", ">>=", "<<", ">>", "<=", ">=", "<", ">"};

	p += strlen("operator");
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		if (!strncmp(p, symbols[i], strlen(symbols[i])))
			return p + strlen(symbols[i]);
	while (*p && *p != '(') {
		const char *next = *p == '<' ? skip_brackets(p) : p + 1;

		if (!next)
			return p;
		p = next;
	}
	return p;
}

/* Skips " const", " volatile", "&", "&&", "[abi:...]" after a parameter list. */
static const char *skip_qualifiers(const char *p)
{
	static const char *const word[] = {" const", " volatile", " &&", " &", " noexcept"};
	size_t i = 0;

	while (i < sizeof(word) / sizeof(word[0])) {
		if (!strncmp(p, word[i], strlen(word[i]))) {
			p += strlen(word[i]);
			i = 0;
		} else {
			i++;
		}
	}
	return p;
}

struct cut {
	char *out;
	size_t n;
	bool keep_spaces; /* "vtable for ...": the words are part of the name */
};

static void append(struct cut *c, const char *from, const char *to)
{
	memcpy(c->out + c->n, from, (size_t)(to - from));
	c->n += (size_t)(to - from);
}

/* Handles a parenthesis outside of all brackets: part of a name, or parameters, which are dropped. NULL: neither. */
static const char *cut_parenthesis(struct cut *c, const char *p)
{
	const char *end = skip_brackets(p);

	if (!end)
		return NULL;
	if (!strncmp(p, "(anonymous namespace)", 21)) {
		append(c, p, end);
		return end;
	}
	if (p[1] == '*' || p[1] == '&') /* returns a function pointer: too rare to be worth parsing */
		return NULL;
	end = skip_qualifiers(end);
	if (!strncmp(end, "::", 2) || !*end)
		return end; /* parameters of an enclosing function, or of this one */
	if (*end == ' ' || *end == '[')
		return end; /* decltype(...) in the return type */
	return NULL;
}

/* Copies the name in `s` to `out`, where it fits. false: not understood. */
static bool cut_parameters(const char *s, struct cut *c)
{
	const char *p = s, *end;

	while (*p) {
		if (starts_word(s, p, "operator")) {
			end = skip_operator(p);
			append(c, p, end);
		} else if (*p == '(') {
			end = cut_parenthesis(c, p);
		} else if (*p == '<' || *p == '{' || *p == '[') {
			end = skip_brackets(p);
			if (end)
				append(c, p, end);
		} else if (*p == ' ' && !c->keep_spaces) {
			c->n = 0; /* the text so far was the return type */
			end = p + 1;
		} else {
			end = p + 1;
			append(c, p, end);
		}
		if (!end)
			return false;
		p = end;
	}
	return c->n > 0;
}

static bool is_special(const char *s)
{
	static const char *const prefix[] = {"vtable for ",
					     "VTT for ",
					     "typeinfo ",
					     "guard variable ",
					     "non-virtual thunk ",
					     "virtual thunk ",
					     "covariant ",
					     "construction vtable ",
					     "reference temporary ",
					     "TLS ",
					     "transaction clone ",
					     "non-transaction clone ",
					     "template parameter object "};

	for (size_t i = 0; i < sizeof(prefix) / sizeof(prefix[0]); i++)
		if (!strncmp(s, prefix[i], strlen(prefix[i])))
			return true;
	return false;
}

/* "core::ptr::drop_in_place::h0123456789abcdef": rustc's legacy mangling ends in a hash. */
static bool cut_rust_hash(char *s)
{
	size_t n = strlen(s);

	if (n < 20 || strncmp(s + n - 19, "::h", 3))
		return false;
	for (size_t i = n - 16; i < n; i++)
		if (!isxdigit((unsigned char)s[i]) || isupper((unsigned char)s[i]))
			return false;
	s[n - 19] = 0;
	return true;
}

/* Decodes, in place, the escapes of rustc's legacy mangling ("$LT$", "..", "$u7b$"). */
static void unescape_rust(char *s)
{
	static const struct {
		const char *code;
		char c;
	} word[] = {{"$LT$", '<'}, {"$GT$", '>'}, {"$RF$", '&'}, {"$BP$", '*'},
		    {"$LP$", '('}, {"$RP$", ')'}, {"$C$", ','},  {"$SP$", '@'}};
	char *to = s, *p = s;
	size_t i;

	while (*p) {
		unsigned value;
		int len = 0;

		for (i = 0; i < sizeof(word) / sizeof(word[0]); i++)
			if (!strncmp(p, word[i].code, strlen(word[i].code)))
				break;
		if (i < sizeof(word) / sizeof(word[0])) {
			*to++ = word[i].c;
			p += strlen(word[i].code);
		} else if (sscanf(p, "$u%2x$%n", &value, &len) == 1 && len && value >= ' ' && value < 0x7f) {
			*to++ = (char)value;
			p += len;
		} else if (p[0] == '_' && p[1] == '$') {
			p++; /* '_' before an escape: identifiers must not start with '$' */
		} else if (p[0] == '.' && p[1] == '.') {
			*to++ = ':';
			*to++ = ':';
			p += 2;
		} else {
			*to++ = *p++;
		}
	}
	*to = 0;
}

static void copy(char *dst, size_t size, const char *s)
{
	snprintf(dst, size, "%s", s);
}

/* NULL: not a mangled name, or one that would cost too much. The caller frees it. */
static char *full_name(const char *name)
{
	int status = 0;

	if (!is_mangled(name) || expands_too_much(name) || parses_again_and_again(name))
		return NULL;
	return __cxa_demangle(name, NULL, NULL, &status);
}

void demangle(const char *name, char *dst, size_t size)
{
	char plain[DEMANGLE_MAX];
	CLEANUP(free_at_exit) char *full = NULL, *out = NULL;
	struct cut c = {0};

	if (!size)
		return;
	copy(dst, size, name);
	if (strlen(name) >= sizeof(plain))
		return;
	copy(plain, sizeof(plain), name);
	cut_suffix(plain);
	copy(dst, size, plain);
	full = full_name(plain);
	if (!full)
		return;
	copy(dst, size, full);
	if (cut_rust_hash(full)) {
		unescape_rust(full);
		copy(dst, size, full);
		return;
	}
	out = malloc(strlen(full) + 1);
	if (!out)
		return;
	c.out = out;
	c.keep_spaces = is_special(full);
	if (!cut_parameters(full, &c))
		return;
	out[c.n] = 0;
	copy(dst, size, out);
}
