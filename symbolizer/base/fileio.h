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
 * anything behind, and an old file survives them. A name that is a FIFO or device is written directly; opening a FIFO
 * waits for its reader, or for one of SIGINT, SIGTERM, SIGHUP that is blocked (-EINTR).
 * Links of other users are not followed where they could do harm (path_walk.h); -EACCES also where the name is
 * another user's in a directory that both may write.
 */
struct outfile;

int outfile_open(const char *path, struct outfile **ret, struct err *err);
/* The same for a name that nobody typed: -EEXIST where it is anything but a regular file of the caller. */
int outfile_open_own(const char *path, struct outfile **ret, struct err *err);
FILE *outfile_stream(struct outfile *f); /* borrowed */
int outfile_directory(const struct outfile *f); /* O_PATH, borrowed: where the name will appear; -1: written directly */
/* Flushes, names, frees f in any case. -EEXIST: what must not be replaced has got the name meanwhile. */
int outfile_commit(struct outfile *f, struct err *err);
void outfile_abort(struct outfile *f); /* frees f, leaves nothing; NULL is fine */
int outfile_fail(struct err *err, int code, const char *path); /* "cannot write ...", why, the remedy; code */
const char *outfile_remedy(int code); /* "; make room, ..." for a negative errno; "" where none is known */

#endif
