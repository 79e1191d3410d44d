#ifndef JS_VIEWS_NEAREST_H
#define JS_VIEWS_NEAREST_H

#include <stddef.h>

struct named_profile;

/*
 * What somebody may have meant who named a method or a thread that is not in a profile: up to three names, most
 * alike first, as "nearest: a, b, c"; "" where none is alike. Letters' case, dots for slashes and the operators of
 * regular expressions do not count.
 */
void nearest_methods(const struct named_profile *np, const char *text, char *dst, size_t size);
void nearest_threads(const struct named_profile *np, const char *text, char *dst, size_t size);

/* In how many letters the lower-case words differ: put in, left out, another one. */
int nearest_distance(const char *a, const char *b);

#endif
