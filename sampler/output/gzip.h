#ifndef JS_OUTPUT_GZIP_H
#define JS_OUTPUT_GZIP_H

#include <stddef.h>
#include <stdio.h>

/*
 * Writes bytes to a stream in gzip format. The result depends only on the bytes: no name, no time. Errors stick: 0,
 * -ENOMEM, or the error of the stream.
 */
struct gzip;

struct gzip *gzip_new(FILE *out); /* NULL: out of memory */
struct gzip *gzip_new_plain(FILE *out); /* without compression; NULL: out of memory */
void gzip_add(struct gzip *g, const void *bytes, size_t len);
int gzip_end(struct gzip *g); /* writes the rest and frees g */

#endif
