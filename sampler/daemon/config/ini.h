#ifndef JS_CONFIG_INI_H
#define JS_CONFIG_INI_H

#include <stddef.h>

struct err;

/*
 * Lines of a configuration file: "[section]" or "[section NAME]", "key = value", empty lines, and comments, which begin with '#' or ';'
 * and have lines of their own. There are no quotes, escapes and continued lines.
 */
enum { INI_LINE_MAX = 4096 };

struct ini_reader {
	void *ctx;
	/* A heading or a setting that is well-formed. -errno: err says what is wrong with it, which is told with its line. */
	int (*section)(void *ctx, unsigned line, const char *section, const char *name, struct err *err);
	int (*setting)(void *ctx, unsigned line, const char *key, const char *value, struct err *err);
	void (*problem)(void *ctx, unsigned line, const char *text);
};

/* Reads on after a problem, so that a person sees all of them at once. Settings below a heading that is wrong are left out. */
void ini_read(const char *text, size_t len, const struct ini_reader *reader);

#endif
