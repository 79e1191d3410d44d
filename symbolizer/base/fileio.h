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
 * another user's, in a directory that both may write to.
 */
struct outfile;

int outfile_open(const char *path, struct outfile **ret, struct err *err);
/* The same for a name that the user did not type: -EEXIST if it is anything but a regular file of the caller. */
int outfile_open_own(const char *path, struct outfile **ret, struct err *err);
FILE *outfile_stream(struct outfile *f); /* borrowed */
int outfile_directory(const struct outfile *f); /* O_PATH, borrowed: where the name will appear; -1: written directly */
/* Flushes the file, gives it its name, and frees f in any case. -EEXIST: something that must not be replaced got the name. */
int outfile_commit(struct outfile *f, struct err *err);
void outfile_abort(struct outfile *f); /* frees f (may be NULL) and leaves nothing behind */
int outfile_fail(struct err *err, int code,
		 const char *path); /* "cannot write ...", why, and the remedy; returns code */
/*
 * For a file that cannot be written: one with a random name that ends in that of `path`, in the directory number i (below
 * OUTFILE_RESCUES) of those where everybody may write, for its owner alone. Nobody can have put a link there.
 */
enum { OUTFILE_RESCUES = 3 };
int outfile_open_rescue(const char *path, unsigned i, struct outfile **ret, char *ret_path, size_t size);

/* Names files in place of a process that is not permitted to any more. name(): as outfile_commit(), when the file is closed. */
struct outfile_namer {
	int (*name)(void *ctx, unsigned number, struct err *err);
	void *ctx;
};

/* Another process, which has f too, under a number, names it or leaves nothing of it behind. Borrowed. */
void outfile_hand_over(struct outfile *f, const struct outfile_namer *namer, unsigned number);
/* The same of a file that the other process opened; fd is f's in any case. 0 or -errno. */
int outfile_from(int fd, const char *path, const struct outfile_namer *namer, unsigned number, struct outfile **ret);
const char *outfile_remedy(int code); /* "; make room, ..." for a negative errno; "" if none is known */

#endif
