#include "sampler/inspect/command_line.h"

#include <ctype.h>
#include <string.h>

#include "sampler/inspect/java_main.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/text.h"

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* "512m", "0.5", "90%": not a password, as the option's name says what it is. */
static bool is_quantity(const char *text)
{
	size_t n = strspn(text, "0123456789.");

	if (!n)
		return false;
	return !text[n] || (strchr("kKmMgGtT%", text[n]) && !text[n + 1]);
}

static bool is_word(const char *text)
{
	const char *p = text;

	while (isalnum((unsigned char)*p))
		p++;
	return p > text && !*p;
}

/* -XX:+Name, -XX:-Name, -XX:Name=QUANTITY. */
static bool is_harmless_xx(const char *flag)
{
	const char *equals = strchr(flag, '=');

	if (*flag == '+' || *flag == '-')
		return is_word(flag + 1);
	return equals && is_quantity(equals + 1);
}

/* Options of the java launcher that are JVM settings as a whole (java(1)). */
static bool is_harmless(const char *arg)
{
	/* clang-format off */
	static const char *const plain[] = {
		"-server", "-client", "-ea", "-esa", "-da", "-dsa", "-Xint", "-Xcomp", "-Xmixed", "-Xbatch",
		"-Xrs", "-Xnoclassgc", "-Xincgc", "-Xinternalversion", "-Xshare:auto", "-Xshare:on", "-Xshare:off",
		"-Xverify:none", "-Xcheck:jni", "--enable-preview", "-jar", "-m", "--module",
	};
	/* clang-format on */
	static const char *const sizes[] = {"-Xmx", "-Xms", "-Xmn", "-Xss"};

	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (strcmp(arg, plain[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		if (begins(arg, sizes[i]))
			return is_quantity(arg + strlen(sizes[i]));
	return begins(arg, "-XX:") && is_harmless_xx(arg + strlen("-XX:"));
}

static void add(struct buf *b, const char *arg)
{
	if (b->len)
		buf_add_z(b, " ");
	buf_add_z(b, arg);
}

static void leave_out(struct buf *b, bool *left_out)
{
	if (!*left_out)
		add(b, "...");
	*left_out = true;
}

/* The program's own arguments follow the main class; none of them is shown. */
static void add_harmless(struct buf *b, const char *cmdline, const char *end, const char *main)
{
	bool left_out = false, seen_main = false;

	for (const char *arg = cmdline; arg < end; arg += strlen(arg) + 1) {
		bool is_main = !seen_main && *main && strcmp(arg, main) == 0;

		if (!*main || seen_main || !(is_main || is_harmless(arg))) {
			leave_out(b, &left_out);
			continue;
		}
		add(b, arg);
		left_out = false;
		seen_main = is_main;
	}
}

static void add_all(struct buf *b, const char *cmdline, const char *end)
{
	for (const char *arg = cmdline; arg < end; arg += strlen(arg) + 1)
		add(b, arg);
}

void command_line_text(const char *cmdline, size_t len, bool whole, char *dst, size_t size)
{
	struct buf copy = {0}, b = {0};
	char main[4096] = "";

	while (len && cmdline[len - 1] == '\0')
		len--;
	/* The last argument of another process's command line may lack its NUL. */
	buf_add(&copy, cmdline, len);
	buf_add(&copy, "", 1);
	if (!copy.failed && len) {
		const char *end = copy.data + len, *first = copy.data + strlen(copy.data) + 1;

		add(&b, copy.data);
		if (java_is_launcher(copy.data))
			java_main(copy.data, len, main, sizeof(main));
		if (whole)
			add_all(&b, first, end);
		else
			add_harmless(&b, first, end, main);
	}
	text_sanitise(dst, size, b.data ? b.data : "", b.len);
	buf_done(&copy);
	buf_done(&b);
}
