#ifndef JS_VIEWS_TABLE_FIT_H
#define JS_VIEWS_TABLE_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "symbolizer/base/buf.h"
#include "symbolizer/base/vec.h"

struct table_column;

/*
 * A table of text that fits a terminal. Rows are kept until its end. Columns are as wide as their
 * cells; empty ones are left out, and the last one, a name, is cut to the rest of the width, at its
 * package.
 */
struct table_fit {
	struct buf text; /* of all cells, each NUL-terminated */
	VEC(size_t) cells; /* offsets of cells in it; a note is one cell instead of a row */
	VEC(size_t) notes; /* positions of notes in cells, ascending */
	bool failed; /* out of memory */
};

void table_fit_cell(struct table_fit *f, const char *s, size_t len);
/* Adds a line below the row, after its last cell. */
void table_fit_note(struct table_fit *f, const char *s, size_t len);

/* columns: the n that are shown. width: of the terminal. */
void table_fit_print(const struct table_fit *f, FILE *out, const struct table_column *columns, size_t n, size_t width);
void table_fit_done(struct table_fit *f);

/*
 * Prints a name in at most `room` columns, keeping lines of a tree before it as far as there is
 * room.
 */
void table_fit_name(FILE *out, const char *name, size_t room);

#endif
