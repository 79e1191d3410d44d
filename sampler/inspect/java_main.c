#include "sampler/inspect/java_main.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Launcher options whose value is the next argument. */
static bool takes_value(const char *arg)
{
	/* clang-format off */
	static const char *const options[] = {
		"-cp",		  "-classpath",	   "--class-path",    "-p",
		"--module-path",  "--upgrade-module-path", "--add-modules", "--limit-modules",
		"--add-exports",  "--add-opens",   "--add-reads",     "--patch-module",
		"--source",	  "--describe-module", "-d",	      "--enable-native-access",
		NULL,
	};
	/* clang-format on */

	for (const char *const *o = options; *o; o++)
		if (strcmp(arg, *o) == 0)
			return true;
	return false;
}

static const char *next_arg(const char *arg, const char *end)
{
	const char *next = arg + strnlen(arg, (size_t)(end - arg)) + 1;

	return next < end ? next : NULL;
}

static const char *after_last(const char *s, char c)
{
	const char *p = strrchr(s, c);

	return p ? p + 1 : s;
}

bool java_is_launcher(const char *program)
{
	return strcmp(after_last(program, '/'), "java") == 0;
}

bool java_main(const char *cmdline, size_t len, char *dst, size_t size)
{
	const char *end = cmdline + len;
	const char *arg = len ? next_arg(cmdline, end) : NULL;
	char program[PATH_MAX];

	snprintf(program, sizeof(program), "%.*s", (int)strnlen(cmdline, len), cmdline);
	if (!java_is_launcher(program)) {
		snprintf(dst, size, "%s", after_last(program, '/'));
		return *dst;
	}
	while (arg && *arg == '-') {
		bool named = strcmp(arg, "-jar") == 0 || strcmp(arg, "-m") == 0 || strcmp(arg, "--module") == 0;

		if (strncmp(arg, "--module=", 9) == 0) {
			arg += 9;
			break;
		}
		if (named || takes_value(arg))
			arg = next_arg(arg, end);
		if (named)
			break;
		if (arg)
			arg = next_arg(arg, end);
	}
	if (!arg || !*arg)
		return false;
	snprintf(dst, size, "%.*s", (int)strnlen(arg, (size_t)(end - arg)), arg);
	return true;
}

/* Not terminated: *ret_n characters of `main`. */
static const char *short_name(const char *main, size_t *ret_n)
{
	const char *file = after_last(main, '/');
	size_t n = strlen(file);

	if (n > 4 && strcmp(file + n - 4, ".jar") == 0) {
		*ret_n = n - 4;
		return file;
	}
	file = after_last(file, '.');
	*ret_n = strlen(file);
	return file;
}

bool java_main_matches(const char *main, const char *name)
{
	size_t n;
	const char *s = short_name(main, &n);

	return strcmp(main, name) == 0 || strcmp(after_last(main, '/'), name) == 0 ||
	       (strlen(name) == n && strncmp(s, name, n) == 0);
}

void java_main_short(const char *main, char *dst, size_t size)
{
	size_t n;
	const char *s = short_name(main, &n);

	snprintf(dst, size, "%.*s", (int)n, s);
}
