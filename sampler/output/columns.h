#ifndef JS_OUTPUT_COLUMNS_H
#define JS_OUTPUT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Columns that sanitised UTF-8 text takes on a terminal; East Asian wide characters take two. */
size_t columns_of(const char *text);

/* The width of the terminal at a descriptor (80 if unknown or less than 40); 0: not a terminal. */
size_t columns_of_terminal(int fd);

/*
 * Copies at most `columns` of the text (as far as dst has room), marking a cut by "..": at the start with keep_end,
 * because names have class and method at the end; otherwise at the end.
 */
void columns_fit(char *dst, size_t size, const char *text, size_t columns, bool keep_end);

/*
 * Wraps text at spaces to `width` columns (0: no wrapping). `used`: columns already used on the first line; other
 * lines start with `indent` spaces. Ends the last line.
 */
void columns_wrap(FILE *out, const char *text, size_t used, size_t indent, size_t width);

/* Is stderr a terminal that understands control sequences (TERM is set and not "dumb")? */
bool columns_live_terminal(void);

/* The width assumed if a terminal's is not known, or too small. */
enum { COLUMNS = 80 };

#endif
