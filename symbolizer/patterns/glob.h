#ifndef JS_BASE_GLOB_H
#define JS_BASE_GLOB_H

#include <stdbool.h>

struct err;

/*
 * Patterns that match whole texts, in time bounded by the product of both lengths:
 *   *    any characters, '/' too
 *   ?    one character
 *   \x   x itself
 */
enum { GLOB_MAX = 256 };

/* -EINVAL: empty, too long, or ends with an unescaped backslash; err says which. */
int glob_check(const char *pattern, struct err *err);
bool glob_matches(const char *pattern, const char *text);

#endif
