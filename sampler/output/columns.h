#ifndef JS_OUTPUT_COLUMNS_H
#define JS_OUTPUT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Columns that sanitised UTF-8 text takes on a terminal; East Asian wide characters take two. */
size_t columns_of(const char *text);

/* The terminal behind a descriptor: its columns (80 where it does not say), 0: not a terminal. */
size_t columns_of_terminal(int fd);

/* At most `columns` of the text (as much as dst holds), the cut marked by "..": at the start with
 * keep_end, which is where class and method stand, else at the end. */
void columns_fit(char *dst, size_t size, const char *text, size_t columns, bool keep_end);

/* Breaks lines at blanks so that they fit in `width` columns (0: no breaks). `used`: columns that the
 * caller has filled on the first line; the others start with `indent` blanks. Ends the line. */
void columns_wrap(FILE *out, const char *text, size_t used, size_t indent, size_t width);

/* A terminal on stderr that may be sent control sequences: TERM is set and is not "dumb". */
bool columns_live_terminal(void);

/* Every terminal is at least as wide. */
enum { COLUMNS = 80 };

#endif
