#ifndef JS_CLI_DATA_OUT_H
#define JS_CLI_DATA_OUT_H

#include <stddef.h>
#include <stdio.h>

struct err;
struct outfile;

/* Where a command's data goes: a file that appears when it is complete, or stdout. */
struct data_out {
	FILE *stream;
	const char *path; /* NULL: stdout */
	struct outfile *file;
};

/* path: NULL or "-": stdout. Borrowed. */
int data_out_open(struct data_out *out, const char *path, struct err *err);

/* Columns of the terminal that it goes to; 0: to none. */
size_t data_out_width(const struct data_out *out);

/*
 * result: of what wrote it. Failure leaves no file behind. 0, the result, or why it could not be
 * written; a pipe that the reader closed (`| head`) is no failure.
 */
int data_out_close(struct data_out *out, int result, struct err *err);

#endif
