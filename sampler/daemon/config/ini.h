#ifndef JS_CONFIG_INI_H
#define JS_CONFIG_INI_H

#include <stddef.h>

struct err;

/*
 * Lines of a configuration file: "[section]" or "[section NAME]", "key = value", empty lines, and comments, which
 * begin with '#' or ';' and are on lines of their own. There are no quotes, escapes or continuation lines.
 */
enum { INI_LINE_MAX = 4096 };

struct ini_reader {
	void *ctx;
	/* A well-formed heading or setting. -errno: err says what is wrong with it, and is reported with the line. */
	int (*section)(void *ctx, unsigned line, const char *section, const char *name, struct err *err);
	int (*setting)(void *ctx, unsigned line, const char *key, const char *value, struct err *err);
	void (*problem)(void *ctx, unsigned line, const char *text);
};

/* Continues after a problem, so that all are reported at once. Settings below an invalid heading are ignored. */
void ini_read(const char *text, size_t len, const struct ini_reader *reader);

#endif
