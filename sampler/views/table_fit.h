#ifndef JS_VIEWS_TABLE_FIT_H
#define JS_VIEWS_TABLE_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "symbolizer/base/buf.h"
#include "symbolizer/base/vec.h"

struct table_column;

/*
 * A text table that fits a terminal. Rows are kept until its end. Columns are as wide as their cells; empty columns
 * are left out, and the last one, a name, is cut to the remaining width, at its package.
 */
struct table_fit {
	struct buf text; /* all cells, each NUL-terminated */
	VEC(size_t) cells; /* offsets of cells in it; a note takes the place of a row */
	VEC(size_t) notes; /* positions of notes in cells, ascending */
	bool failed; /* out of memory */
};

void table_fit_cell(struct table_fit *f, const char *s, size_t len);
/* Adds a line below the row, after its last cell. */
void table_fit_note(struct table_fit *f, const char *s, size_t len);

/* columns: the n to show. width: of the terminal. */
void table_fit_print(const struct table_fit *f, FILE *out, const struct table_column *columns, size_t n, size_t width);
void table_fit_done(struct table_fit *f);

/* Prints a name in at most `room` columns, keeping as many of the tree's lines before it as fit. */
void table_fit_name(FILE *out, const char *name, size_t room);

#endif
