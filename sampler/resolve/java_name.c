#include "sampler/resolve/java_name.h"

#include <stdbool.h>
#include <string.h>

#include "symbolizer/base/buf.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_hex_number(char c)
{
	return is_hex(c) || c == 'x';
}

static bool is_alnum(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool starts(const char *s, size_t len, const char *prefix)
{
	size_t n = strlen(prefix);

	return n <= len && !memcmp(s, prefix, n);
}

/* Length without the trailing characters for which `in` holds. */
static size_t cut_end(const char *s, size_t len, bool (*in)(char))
{
	while (len && in(s[len - 1]))
		len--;
	return len;
}

/*
 * Hidden classes: "+0x" or "/0x" and an address. JDK 8 and 11 append "/" and a decimal number to
 * anonymous ones; no part of another class's name is all digits.
 */
static size_t cut_address(const char *s, size_t len)
{
	size_t n = cut_end(s, len, is_hex);

	if (n < len && n > 3 && s[n - 1] == 'x' && s[n - 2] == '0' && (s[n - 3] == '+' || s[n - 3] == '/'))
		return n - 3;
	n = cut_end(s, len, is_digit);
	return n < len && n > 1 && s[n - 1] == '/' ? n - 1 : len;
}

/* Start of the part after the last slash. */
static size_t simple_name(const char *s, size_t len)
{
	while (len && s[len - 1] != '/')
		len--;
	return len;
}

/* sun/reflect (8), jdk/internal/reflect (9 on): accessors, numbered as they are generated. */
static size_t cut_accessor(const char *s, size_t len)
{
	static const char *const packages[] = {"sun/reflect/", "jdk/internal/reflect/"};
	static const char *const names[] = {"GeneratedMethodAccessor", "GeneratedConstructorAccessor",
					    "GeneratedSerializationConstructorAccessor"};
	size_t n = cut_end(s, len, is_digit), at = simple_name(s, n);

	for (size_t p = 0; p < sizeof(packages) / sizeof(packages[0]); p++) {
		if (at != strlen(packages[p]) || !starts(s, len, packages[p]))
			continue;
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			if (n - at == strlen(names[k]) && starts(s + at, n - at, names[k]))
				return n;
	}
	return len;
}

/* LambdaForm$MH, $DMH000, $BMH get one name: the method says what they do. */
static bool is_lambda_form(const char *s, size_t len)
{
	static const char prefix[] = "java/lang/invoke/LambdaForm$";
	const char *kind = s + sizeof(prefix) - 1;
	size_t n = cut_end(s, len, is_digit), left;

	if (!starts(s, n, prefix))
		return false;
	left = n - (sizeof(prefix) - 1);
	return (left == 2 && !memcmp(kind, "MH", 2)) ||
	       (left == 3 && (!memcmp(kind, "DMH", 3) || !memcmp(kind, "BMH", 3)));
}

/*
 * $Proxy and a number, in any package: that of a non-public interface, or a package made for
 * proxies, which is numbered from JDK 16 on (jdk/proxy1, com/sun/proxy/jdk/proxy1).
 */
static bool add_proxy(struct buf *b, const char *s, size_t len)
{
	static const char package[] = "jdk/proxy";
	size_t n = cut_end(s, len, is_digit), at = simple_name(s, n), k;

	if (n == len || n - at != 6 || memcmp(s + at, "$Proxy", 6))
		return false;
	k = at ? cut_end(s, at - 1, is_digit) : 0;
	if (k >= sizeof(package) - 1 && !memcmp(s + k - (sizeof(package) - 1), package, sizeof(package) - 1) &&
	    (k == sizeof(package) - 1 || s[k - sizeof(package)] == '/')) {
		buf_add(b, s, k);
		buf_add(b, "/", 1);
	} else {
		buf_add(b, s, at);
	}
	buf_add(b, s + at, n - at);
	return true;
}

/* What code generators insert between two separators: a number, a hash or random letters. */
struct tag {
	const char *before; /* ends in the separator, which is cut off, too */
	size_t separator;
	bool (*in)(char); /* the characters it consists of, up to the next '$' or the end */
};

static const struct tag tags[] = {
	{"$$Lambda$", 1, is_hex_number}, {"ByCGLIB$$", 2, is_hex},          {"BySpringCGLIB$$", 2, is_hex},
	{"ByGuice$$", 2, is_hex},        {"$ByteBuddy$", 1, is_alnum},      {"$auxiliary$", 1, is_alnum},
	{"$MockitoMock$", 1, is_alnum},  {"$HibernateProxy$", 1, is_alnum},
};

/* Finds a tag that ends right before s + at; *ret is the end of what it marks. */
static const struct tag *tag_at(const char *s, size_t len, size_t at, size_t *ret)
{
	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		size_t n = strlen(tags[i].before), end = at;

		if (n >= at || memcmp(s + at - n, tags[i].before, n))
			continue;
		while (end < len && tags[i].in(s[end]))
			end++;
		if (end == at || (end < len && s[end] != '$'))
			continue;
		*ret = end;
		return &tags[i];
	}
	return NULL;
}

static void add_untagged(struct buf *b, const char *s, size_t len)
{
	size_t from = 0, end;

	for (size_t at = 1; at < len; at++) {
		const struct tag *t = s[at - 1] == '$' ? tag_at(s, len, at, &end) : NULL;

		if (!t)
			continue;
		buf_add(b, s + from, at - t->separator - from);
		from = at = end;
	}
	buf_add(b, s + from, len - from);
}

void java_class_add(struct buf *b, const char *name)
{
	size_t len = cut_accessor(name, cut_address(name, strlen(name)));

	if (is_lambda_form(name, len))
		buf_add_z(b, "java/lang/invoke/LambdaForm$MH");
	else if (!add_proxy(b, name, len))
		add_untagged(b, name, len);
}
