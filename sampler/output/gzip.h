#ifndef JS_OUTPUT_GZIP_H
#define JS_OUTPUT_GZIP_H

#include <stddef.h>
#include <stdio.h>

/*
 * Writes bytes in gzip to a stream. The result depends on the bytes only: no name, no time. Errors
 * stick: 0, -ENOMEM, or why the stream could not be written.
 */
struct gzip;

struct gzip *gzip_new(FILE *out); /* NULL: out of memory */
struct gzip *gzip_new_plain(FILE *out); /* the bytes as they are; NULL: out of memory */
void gzip_add(struct gzip *g, const void *bytes, size_t len);
int gzip_end(struct gzip *g); /* writes the rest and frees g */

#endif
