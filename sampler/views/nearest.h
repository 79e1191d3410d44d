#ifndef JS_VIEWS_NEAREST_H
#define JS_VIEWS_NEAREST_H

#include <stddef.h>

struct named_profile;

/*
 * What the user may have meant by a method or thread that is not in a profile: up to three names, the most similar
 * first, as "nearest: a, b, c"; "" if none is similar. Case, dots instead of slashes, and operators of regular
 * expressions are ignored.
 */
void nearest_methods(const struct named_profile *np, const char *text, char *dst, size_t size);
void nearest_threads(const struct named_profile *np, const char *text, char *dst, size_t size);

/* Edit distance of two lower-case words. */
int nearest_distance(const char *a, const char *b);
/* The same, of a text as above and a whole name; -1: they are not similar. */
int nearest_word(const char *text, const char *name);

#endif
