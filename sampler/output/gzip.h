#ifndef JS_OUTPUT_GZIP_H
#define JS_OUTPUT_GZIP_H

#include <stddef.h>
#include <stdio.h>

/*
 * Bytes in gzip, into a stream. The result depends on the bytes alone: no name, no time. An error
 * sticks: 0, -ENOMEM, or why the stream could not be written.
 */
struct gzip;

struct gzip *gzip_new(FILE *out); /* NULL: out of memory */
struct gzip *gzip_new_plain(FILE *out); /* the bytes as they are; NULL: out of memory */
void gzip_add(struct gzip *g, const void *bytes, size_t len);
int gzip_end(struct gzip *g); /* writes what is left and frees g */

#endif
