#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/clock.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/fileio.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/base/parse.h"

struct outfile {
	FILE *stream;
	char *path; /* as given: for messages */
	char *dir, *name; /* where it goes, symbolic links followed */
	int dirfd; /* of dir; -1: written directly */
	char temp[40]; /* its name meanwhile, in dir; "": unnamed */
};

/* Accepts half-built objects. Leaves a name behind only if outfile_commit() gave it. */
static void outfile_free(struct outfile *f)
{
	if (!f)
		return;
	if (f->stream)
		fclose(f->stream);
	if (f->temp[0])
		unlinkat(f->dirfd, f->temp, 0);
	if (f->dirfd >= 0)
		close(f->dirfd);
	free(f->path);
	free(f->dir);
	free(f->name);
	free(f);
}

static void outfile_free_at_exit(struct outfile **f)
{
	outfile_free(*f);
}

const char *outfile_remedy(int code)
{
	switch (-code) {
	case ENOENT:
		return "; create its directory first, or name another file";
	case EACCES:
	case EPERM:
	case EROFS:
		return "; name a file where you may write";
	case ENOSPC:
	case EDQUOT:
		return "; make room, or name a file on another file system";
	case EFBIG:
		return "; raise the limit with ulimit -f, or name a pipe";
	case EISDIR:
		return "; name a file, not a directory";
	default:
		return "";
	}
}

int outfile_fail(struct err *err, int code, const char *path)
{
	errno = -code;
	return err_set(err, code, "cannot write '%s': %m%s", path, outfile_remedy(code));
}

/*
 * N of /dev/stdout, /dev/stderr, /dev/fd/N, /proc/self/fd/N; -1: another path. Such a name means
 * the open descriptor, with its offset and O_APPEND, even where a regular file lies behind it.
 */
static int path_descriptor(const char *path)
{
	static const char *const prefixes[] = {"/dev/fd/", "/proc/self/fd/"};
	uint64_t fd;

	if (strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		size_t len = strlen(prefixes[i]);

		if (strncmp(path, prefixes[i], len) == 0 &&
		    parse_u64(path + len, 0, INT_MAX, &fd) == 0)
			return (int)fd;
	}
	return -1;
}

/*
 * A descriptor for what is written in place; -1 where a file is to be replaced or made,
 * else a negative errno below -1 (EPERM, errno 1, cannot be confused: it is mapped to EACCES).
 */
static int open_direct(const char *path)
{
	int fd = path_descriptor(path);
	struct stat st;

	if (fd >= 0)
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	else if (stat(path, &st) < 0)
		return -1;
	else if (S_ISDIR(st.st_mode))
		return -EISDIR;
	else if (S_ISREG(st.st_mode)) /* replacing it needs no right on it: ask for one */
		return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0 ? -EACCES : -1;
	else
		fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0)
		return fd;
	return errno == EPERM ? -EACCES : -errno;
}

/* Splits the path; an existing symbolic link is followed, as `>` in a shell does. */
static int split_path(struct outfile *f)
{
	CLEANUP(free_at_exit) char *real = realpath(f->path, NULL);
	const char *path = real ? real : f->path, *slash = strrchr(path, '/');

	f->name = strdup(slash ? slash + 1 : path);
	if (!slash)
		f->dir = strdup(".");
	else
		f->dir = strndup(path, slash > path ? (size_t)(slash - path) : 1);
	if (!f->name || !f->dir)
		return -ENOMEM;
	return f->name[0] ? 0 : -EISDIR;
}

static void random_name(char *dst, size_t size)
{
	uint64_t r;

	if (getrandom(&r, sizeof(r), GRND_NONBLOCK) < 0)
		r = hash_mix(clock_realtime_ns(), (uint64_t)getpid());
	snprintf(dst, size, ".jsampler-%016" PRIx64 ".tmp", r);
}

/* O_TMPFILE, open(2); else a hidden name that outfile_free() removes. */
static int open_temp(struct outfile *f)
{
	int fd = openat(f->dirfd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);

	/* EISDIR: a kernel, EOPNOTSUPP: a file system without it (EINVAL: some FUSE ones). */
	if (fd >= 0 || (errno != EISDIR && errno != EOPNOTSUPP && errno != EINVAL))
		return fd >= 0 ? fd : -errno;
	for (int i = 0; i < 16; i++) {
		char name[sizeof(f->temp)];

		random_name(name, sizeof(name));
		fd = openat(f->dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			    0666);
		if (fd >= 0) {
			memcpy(f->temp, name, sizeof(name));
			return fd;
		}
		if (errno != EEXIST)
			break;
	}
	return -errno;
}

static int open_beside(struct outfile *f)
{
	int r = split_path(f);

	if (r < 0)
		return r;
	f->dirfd = open(f->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (f->dirfd < 0)
		return -errno;
	return open_temp(f);
}

int outfile_open(const char *path, struct outfile **ret, struct err *err)
{
	CLEANUP(outfile_free_at_exit) struct outfile *f = calloc(1, sizeof(*f));
	CLEANUP(close_at_exit) int fd = -1;

	if (!f)
		return outfile_fail(err, -ENOMEM, path);
	f->dirfd = -1;
	f->path = strdup(path);
	if (!f->path)
		return outfile_fail(err, -ENOMEM, path);
	fd = open_direct(path);
	if (fd == -1)
		fd = open_beside(f);
	if (fd < 0)
		return outfile_fail(err, fd, path);
	f->stream = fdopen(fd, "w");
	if (!f->stream)
		return outfile_fail(err, -errno, path);
	take_fd(&fd);
	*ret = take_ptr(f);
	return 0;
}

FILE *outfile_stream(struct outfile *f)
{
	return f->stream;
}

/* Gives the unnamed file a name, replacing what had it: linkat(2) cannot replace, renameat(2) can. */
static int publish(struct outfile *f, int fd)
{
	char self[40];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (!f->temp[0] &&
	    linkat(AT_FDCWD, self, f->dirfd, f->name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	if (!f->temp[0]) {
		char name[sizeof(f->temp)];

		if (errno != EEXIST)
			return -errno;
		random_name(name, sizeof(name));
		if (linkat(AT_FDCWD, self, f->dirfd, name, AT_SYMLINK_FOLLOW) < 0)
			return -errno;
		memcpy(f->temp, name, sizeof(name));
	}
	if (renameat(f->dirfd, f->temp, f->dirfd, f->name) < 0)
		return -errno;
	f->temp[0] = '\0';
	return 0;
}

/*
 * Closes the stream, so that errors which appear only then (NFS) are seen too. The errno of an
 * earlier failed write is lost by then; it was most likely a full disk.
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
	int r = fd < 0 ? -errno : finish_stream(f);

	if (r == 0 && f->dirfd >= 0)
		r = publish(f, fd);
	return r < 0 ? outfile_fail(err, r, owned->path) : 0;
}

void outfile_abort(struct outfile *f)
{
	outfile_free(f);
}
