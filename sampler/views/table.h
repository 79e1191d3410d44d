#ifndef JS_VIEWS_TABLE_H
#define JS_VIEWS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sampler/views/table_fit.h"
#include "symbolizer/base/buf.h"
#include "symbolizer/base/json.h"

/*
 * Rows of cells as aligned text, JSON objects or CSV (RFC 4180). Text cells hold names from the
 * target and are sanitised. Errors of the stream stick to it (ferror()). Text for a terminal fits
 * its width (table_fit.h), and is printed by table_end().
 */
enum table_format { TABLE_TEXT, TABLE_JSON, TABLE_CSV };

struct table_column {
	const char *key; /* in json and csv; NULL: only in text */
	const char *title; /* in text; NULL: left out; a space at its start comes before the column's texts, too */
	int width; /* in text; negative: left-aligned; 0: no padding */
	int decimals; /* decimals, in text */
};

struct table {
	FILE *out;
	struct json *json; /* to `out` */
	enum table_format format;
	const struct table_column *columns;
	size_t n;
	size_t at; /* next column of the current row */
	bool filled; /* the current row has a cell */
	struct buf text;
	size_t width; /* width of the terminal; 0: none */
	struct table_fit fit; /* for text with a width */
};

/* "text", "json", "csv"; -EINVAL: none of these. */
int table_format_parse(const char *word, enum table_format *ret);

/*
 * Prints the heading if the format has one; in JSON, adds a list "rows" to the open object. width: of the terminal
 * written to, 0: not a terminal.
 */
void table_begin(struct table *t, struct json *json, enum table_format format, size_t width,
		 const struct table_column *columns, size_t n);

/* Each adds a cell, in the order of the columns; the last column ends the row. */
void table_count(struct table *t, uint64_t value);
void table_number(struct table *t, double value); /* NaN and infinity become table_null() */
void table_text(struct table *t, const char *text);
void table_null(struct table *t); /* null, or nothing */

/* In text: adds a line below the last row; otherwise nothing. */
void table_note(struct table *t, const char *text);

/* Closes the list in JSON; the caller closes the object around it. */
void table_end(struct table *t);

/* Sanitised text, on one line. */
void table_put_clean(FILE *out, struct buf *scratch, const char *text);

#endif
