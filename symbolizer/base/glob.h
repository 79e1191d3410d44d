#ifndef JS_BASE_GLOB_H
#define JS_BASE_GLOB_H

#include <stdbool.h>

struct err;

/*
 * Patterns of whole texts, in time that is bounded by the product of both lengths, whatever they are:
 *   *    any characters, '/' too
 *   ?    one character
 *   \x   x itself
 */
enum { GLOB_MAX = 256 };

/* -EINVAL: empty, too long, or ends with a backslash; err says so. */
int glob_check(const char *pattern, struct err *err);
bool glob_matches(const char *pattern, const char *text);

#endif
