#ifndef JS_OUTPUT_DATA_OUT_H
#define JS_OUTPUT_DATA_OUT_H

#include <stddef.h>
#include <stdio.h>

struct err;
struct opener;
struct outfile;

/* Where a command writes its data: stdout, or a file that appears when it is complete. */
struct data_out {
	FILE *stream;
	const char *path; /* NULL: stdout */
	struct outfile *file;
};

/* path: NULL or "-": stdout. Borrowed. */
int data_out_open(struct data_out *out, const char *path, struct err *err);

/* Lets the opener name it; call before opener_start(). 0 or -ENOMEM. */
int data_out_hand_over(struct data_out *out, struct opener *o);

/* Width of the terminal written to; 0: not a terminal. */
size_t data_out_width(const struct data_out *out);

/*
 * `result`: of the writing so far. On failure, no file is left behind. Returns 0, `result`, or the error of writing;
 * a pipe closed by its reader (`| head`) is not a failure.
 */
int data_out_close(struct data_out *out, int result, struct err *err);

#endif
