#ifndef JS_BASE_FILEIO_H
#define JS_BASE_FILEIO_H

#include <stddef.h>
#include <stdio.h>

struct err;

/*
 * Reads a small file (of /proc, say) to its end, at most `max` bytes, and adds a NUL. The caller frees *ret. -EFBIG:
 * longer than max.
 */
int file_read_at(int dirfd, const char *path, size_t max, char **ret, size_t *ret_len);
int file_read_fd(int fd, size_t max, char **ret, size_t *ret_len);
int file_write_all(int fd, const void *data, size_t len); /* 0 or -errno */

/*
 * An output file that appears under its name only when complete: written to a temporary file in the same directory
 * (O_TMPFILE, or a hidden name where that is not supported). A failed run leaves nothing behind, nor does a killed one
 * with O_TMPFILE; an old file survives both. A FIFO or device is written directly; opening a FIFO waits for a reader,
 * or for a blocked SIGINT, SIGTERM or SIGHUP (-EINTR).
 * Links of other users are not followed where they could do harm (path_walk.h). -EACCES also if another user owns the
 * file with that name, in a directory that both may write to.
 */
struct outfile;

int outfile_open(const char *path, struct outfile **ret, struct err *err);
/*
 * The same for a name that the user did not type: -EEXIST if anything but a regular file of the caller has that name.
 */
int outfile_open_own(const char *path, struct outfile **ret, struct err *err);
FILE *outfile_stream(struct outfile *f); /* borrowed */
int outfile_directory(const struct outfile *f); /* O_PATH, borrowed: the directory of the name; -1: written directly */
/*
 * Flushes the file, gives it its name, and always frees f. -EEXIST: the name is now taken by something that must not be
 * replaced.
 */
int outfile_commit(struct outfile *f, struct err *err);
void outfile_abort(struct outfile *f); /* frees f (may be NULL) and leaves nothing behind */
int outfile_fail(struct err *err, int code,
		 const char *path); /* "cannot write ...", why, and the remedy; returns code */
/*
 * A substitute for a file that cannot be written, in the i-th (below OUTFILE_RESCUES) of the directories where
 * everybody may write. Only its owner can access it, and its random name ends with the last component of `path`: nobody
 * can have put a link there.
 */
enum { OUTFILE_RESCUES = 3 };
int outfile_open_rescue(const char *path, unsigned i, struct outfile **ret, char *ret_path, size_t size);

/*
 * Names files for a process that is no longer permitted to. name() is called when the file is closed; returns as
 * outfile_commit().
 */
struct outfile_namer {
	int (*name)(void *ctx, unsigned number, struct err *err);
	void *ctx;
};

/*
 * From now on another process, which also has f open under this number, gives it its name or removes it. `namer` is
 * borrowed.
 */
void outfile_hand_over(struct outfile *f, const struct outfile_namer *namer, unsigned number);
/* The same for a file that the other process opened. Takes over fd in any case. 0 or -errno. */
int outfile_from(int fd, const char *path, const struct outfile_namer *namer, unsigned number, struct outfile **ret);
const char *outfile_remedy(int code); /* "; make room, ..." for a negative errno; "" if none is known */

#endif
