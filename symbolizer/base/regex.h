#ifndef JS_BASE_REGEX_H
#define JS_BASE_REGEX_H

#include <stdint.h>

struct err;

/*
 * Regular expressions of strangers: those of POSIX (extended) without counted repetition and without classes such as [:alpha:]. They
 * match anywhere in a text, byte by byte, in memory bounded by the expression and time bounded by the product of both lengths.
 * regcomp(3) bounds neither: nested + doubles what it allocates at each level.
 */
enum { REGEX_MAX = 256 };

struct regex;

/* *ret is freed by the caller. -EINVAL: err says what is wrong. */
int regex_new(const char *text, struct regex **ret, struct err *err);
void regex_free(struct regex *re); /* NULL is allowed */
/* 1 or 0. *work grows by what it took; a step takes a few nanoseconds. */
int regex_matches(struct regex *re, const char *text, uint64_t *work);

#endif
