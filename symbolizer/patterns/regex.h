#ifndef JS_BASE_REGEX_H
#define JS_BASE_REGEX_H

#include <stdint.h>

struct err;

/*
 * Regular expressions from untrusted sources: POSIX extended ones, without counted repetition and classes such as
 * [:alpha:]. They match anywhere in a text, byte by byte. The expression bounds the memory, and the product of both
 * lengths bounds the time. regcomp(3) bounds neither: each level of nested + doubles what it allocates.
 */
enum { REGEX_MAX = 256 };

struct regex;

/* *ret is freed by the caller. -EINVAL: err says what is wrong. */
int regex_new(const char *text, struct regex **ret, struct err *err);
void regex_free(struct regex *re); /* NULL is allowed */
/* 1 or 0. Adds the number of steps to *work; a step takes a few nanoseconds. */
int regex_matches(struct regex *re, const char *text, uint64_t *work);

#endif
