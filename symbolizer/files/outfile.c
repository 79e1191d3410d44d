#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/files/fileio.h"
#include "symbolizer/files/outfile_place.h"
#include "symbolizer/files/path_walk.h"

struct outfile {
	FILE *stream;
	char *path; /* as given: for messages */
	char name[NAME_MAX + 1]; /* last component, after following symbolic links */
	int dirfd; /* directory of the name; -1: written directly */
	bool own_only; /* replaces nothing but a regular file of the caller */
	char temp[40]; /* temporary name in dirfd; "": unnamed */
	const struct outfile_namer *namer; /* NULL: this process */
	unsigned number; /* of this file, for the namer */
};

/* f may be half-built. Removes the temporary name, so only outfile_commit() leaves a file. */
static void outfile_free(struct outfile *f)
{
	if (!f)
		return;
	if (f->stream)
		fclose(f->stream);
	if (f->temp[0] && !f->namer)
		unlinkat(f->dirfd, f->temp, 0);
	if (f->dirfd >= 0)
		close(f->dirfd);
	free(f->path);
	free(f);
}

static void outfile_free_at_exit(struct outfile **f)
{
	outfile_free(*f);
}

const char *outfile_remedy(int code)
{
	switch (-code) {
	case ENOENT: return "; create its directory first, or name another file";
	case EACCES:
	case EPERM:
	case EROFS: return "; name a file where you may write";
	case ENOSPC:
	case EDQUOT: return "; make room, or name a file on another file system";
	case EFBIG: return "; raise the limit with ulimit -f, or name a pipe";
	case EISDIR: return "; name a file, not a directory";
	default: return "";
	}
}

int outfile_fail(struct err *err, int code, const char *path)
{
	errno = -code;
	return err_set(err, code, "cannot write '%s': %m%s", path, outfile_remedy(code));
}

static void random_name(char *dst, size_t size)
{
	uint64_t r;

	if (getrandom(&r, sizeof(r), GRND_NONBLOCK) < 0)
		r = hash_mix(clock_realtime_ns(), (uint64_t)getpid());
	snprintf(dst, size, ".jsampler-%016" PRIx64 ".tmp", r);
}

/* Falls back to a hidden name if O_TMPFILE (open(2)) is not supported; outfile_free() removes it. */
static int open_temp(struct outfile *f)
{
	int fd = openat(f->dirfd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);

	/* EISDIR: the kernel lacks it; EOPNOTSUPP, and EINVAL on some FUSE ones: the file system does. */
	if (fd >= 0 || (errno != EISDIR && errno != EOPNOTSUPP && errno != EINVAL))
		return fd >= 0 ? fd : -errno;
	for (int i = 0; i < 16; i++) {
		char name[sizeof(f->temp)];

		random_name(name, sizeof(name));
		fd = openat(f->dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (fd >= 0) {
			memcpy(f->temp, name, sizeof(name));
			return fd;
		}
		if (errno != EEXIST)
			break;
	}
	return -errno;
}

static int open_output(struct outfile *f, struct err *why)
{
	CLEANUP(path_end_done) struct path_end end = {.dir = -1, .fd = -1};
	int fd = outfile_place(f->path, f->own_only, &end, why);

	if (fd != -1)
		return fd;
	memcpy(f->name, end.name, sizeof(f->name));
	f->dirfd = take_fd(&end.dir);
	return open_temp(f);
}

static int fail(struct err *err, int code, const char *path, const struct err *why)
{
	if (!why->msg[0])
		return outfile_fail(err, code, path);
	return err_set(err, code, "cannot write '%s': %s", path, why->msg);
}

static int open_as(const char *path, bool own_only, struct outfile **ret, struct err *err)
{
	CLEANUP(outfile_free_at_exit) struct outfile *f = calloc(1, sizeof(*f));
	CLEANUP(close_at_exit) int fd = -1;
	struct err why = {0};

	if (!f)
		return outfile_fail(err, -ENOMEM, path);
	f->dirfd = -1;
	f->own_only = own_only;
	f->path = strdup(path);
	if (!f->path)
		return outfile_fail(err, -ENOMEM, path);
	fd = open_output(f, &why);
	if (fd < 0)
		return fail(err, fd, path, &why);
	f->stream = fdopen(fd, "w");
	if (!f->stream)
		return outfile_fail(err, -errno, path);
	take_fd(&fd);
	*ret = take_ptr(f);
	return 0;
}

int outfile_open(const char *path, struct outfile **ret, struct err *err)
{
	return open_as(path, false, ret, err);
}

int outfile_open_own(const char *path, struct outfile **ret, struct err *err)
{
	return open_as(path, true, ret, err);
}

FILE *outfile_stream(struct outfile *f)
{
	return f->stream;
}

int outfile_directory(const struct outfile *f)
{
	return f->dirfd;
}

void outfile_hand_over(struct outfile *f, const struct outfile_namer *namer, unsigned number)
{
	if (f->dirfd >= 0)
		close(take_fd(&f->dirfd));
	f->namer = namer;
	f->number = number;
}

int outfile_from(int fd, const char *path, const struct outfile_namer *namer, unsigned number, struct outfile **ret)
{
	CLEANUP(outfile_free_at_exit) struct outfile *f = calloc(1, sizeof(*f));
	CLEANUP(close_at_exit) int owned = fd;

	if (!f)
		return -ENOMEM;
	f->dirfd = -1;
	f->namer = namer;
	f->number = number;
	f->path = strdup(path);
	f->stream = f->path ? fdopen(fd, "w") : NULL;
	if (!f->stream)
		return -ENOMEM;
	take_fd(&owned);
	*ret = take_ptr(f);
	return 0;
}

/* Gives the unnamed file a hidden name: linkat(2) cannot replace a file, renameat(2) can. */
static int link_hidden_name(struct outfile *f, const char *self)
{
	char name[sizeof(f->temp)];

	random_name(name, sizeof(name));
	if (linkat(AT_FDCWD, self, f->dirfd, name, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	memcpy(f->temp, name, sizeof(name));
	return 0;
}

/* Gives the file its name, replacing an existing file if that is allowed. */
static int publish(struct outfile *f, int fd, struct err *why)
{
	char self[40];
	int r;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (!f->temp[0] && linkat(AT_FDCWD, self, f->dirfd, f->name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	if (!f->temp[0] && errno != EEXIST)
		return -errno;
	r = outfile_place_check(f->dirfd, f->name, f->own_only, why);
	if (r == 0 && !f->temp[0])
		r = link_hidden_name(f, self);
	if (r == 0 && renameat(f->dirfd, f->temp, f->dirfd, f->name) < 0)
		r = -errno;
	if (r == 0)
		f->temp[0] = '\0';
	return r;
}

/*
 * Closes the stream, so that errors that appear only then (NFS) are seen, too. The errno of an earlier failed write is
 * lost by now; it was most likely a full disk.
 */
static int finish_stream(struct outfile *f)
{
	bool failed = ferror(f->stream);
	int r = fflush(f->stream) == 0 ? 0 : -errno;

	if (fclose(take_ptr(f->stream)) != 0 && r == 0)
		r = -errno;
	return r == 0 && failed ? -EIO : r;
}

int outfile_commit(struct outfile *f, struct err *err)
{
	CLEANUP(outfile_free_at_exit) struct outfile *owned = f;
	CLEANUP(close_at_exit) int fd = fcntl(fileno(f->stream), F_DUPFD_CLOEXEC, 3);
	struct err why = {0};
	int r = fd < 0 ? -errno : finish_stream(f);

	if (r == 0 && f->namer)
		return f->namer->name(f->namer->ctx, f->number, err);
	if (r == 0 && f->dirfd >= 0)
		r = publish(f, fd, &why);
	return r < 0 ? fail(err, r, owned->path, &why) : 0;
}

void outfile_abort(struct outfile *f)
{
	outfile_free(f);
}
