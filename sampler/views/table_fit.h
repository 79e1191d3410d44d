#ifndef JS_VIEWS_TABLE_FIT_H
#define JS_VIEWS_TABLE_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "symbolizer/base/buf.h"
#include "symbolizer/base/vec.h"

struct table_column;

/*
 * A table of text that fits in a terminal: rows are kept until its end, columns are as wide as what
 * stands in them, those with nothing in them are left out, and the last one, a name, is cut to what
 * is left, where it has its package.
 */
struct table_fit {
	struct buf text; /* of all cells, each with its NUL */
	VEC(size_t) cells; /* where they begin in it; a note is one cell in place of a row */
	VEC(size_t) notes; /* places of notes in cells, ascending */
	bool failed; /* out of memory */
};

void table_fit_cell(struct table_fit *f, const char *s, size_t len);
/* A line below the row before, after its last cell. */
void table_fit_note(struct table_fit *f, const char *s, size_t len);

/* columns: those that are shown, n of them. width: of the terminal. */
void table_fit_print(const struct table_fit *f, FILE *out, const struct table_column *columns, size_t n,
		     size_t width);
void table_fit_done(struct table_fit *f);

/* Prints a name in at most `room` columns; lines of a tree in front of it stay, as far as there is room. */
void table_fit_name(FILE *out, const char *name, size_t room);

#endif
