#ifndef JS_INPUT_SOURCE_H
#define JS_INPUT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

struct err;

/*
 * The bytes of an input, decompressed if in gzip, one buffer at a time. Functions that read return -EIO or -EINVAL
 * (damaged gzip), with a message that begins with the input's name.
 */
struct source;

/* "-": stdin. */
int source_open(const char *path, struct source **ret, struct err *err);
/* fd: open for reading; ownership is taken even on failure. `name` is for messages. */
int source_open_fd(int fd, const char *name, struct source **ret, struct err *err);
/* Bytes and name are borrowed; no gzip. NULL: out of memory. */
struct source *source_new_bytes(const void *bytes, size_t len, const char *name);
void source_close(struct source *s);
const char *source_name(const struct source *s); /* for messages */

/* Call before anything else is read: the first bytes, at most a buffer full. Borrowed. */
int source_peek(struct source *s, const char **ret, size_t *ret_len, struct err *err);

/*
 * 1: a line without its end ("\n" or "\r\n"), writable, valid until the next call; 0: the end. *ret NULL: a line
 * longer than SOURCE_LINE_MAX was skipped.
 */
enum { SOURCE_LINE_MAX = 64 << 20 };
int source_line(struct source *s, char **ret, size_t *ret_len, struct err *err);

/* The rest of the input; the caller frees it. -EFBIG: more than max. */
int source_rest(struct source *s, size_t max, char **ret, size_t *ret_len, struct err *err);

#endif
