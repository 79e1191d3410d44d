#ifndef JS_BASE_FILEIO_H
#define JS_BASE_FILEIO_H

#include <stddef.h>
#include <stdio.h>

struct err;

/*
 * Reads a small file (of /proc, say) to its end, at most `max` bytes, NUL-terminated.
 * *ret is the caller's to free. -EFBIG: longer than max.
 */
int file_read_at(int dirfd, const char *path, size_t max, char **ret, size_t *ret_len);
int file_read_fd(int fd, size_t max, char **ret, size_t *ret_len);

/*
 * An output file that appears under its name only when complete: written to an unnamed temporary
 * (O_TMPFILE where there is one) in the same directory. Neither a failed nor a killed run leaves
 * anything behind, and an old file survives them. A name that is a FIFO or device is written directly.
 */
struct outfile;

int outfile_open(const char *path, struct outfile **ret, struct err *err);
FILE *outfile_stream(struct outfile *f); /* borrowed */
int outfile_commit(struct outfile *f, struct err *err); /* flushes, names, frees f in any case */
void outfile_abort(struct outfile *f); /* frees f, leaves nothing; NULL is fine */
int outfile_fail(struct err *err, int code, const char *path); /* "cannot write ...", why, the remedy; code */
const char *outfile_remedy(int code); /* "; make room, ..." for a negative errno; "" where none is known */

#endif
