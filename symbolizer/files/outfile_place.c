#include "symbolizer/files/outfile_place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/base/err.h"
#include "symbolizer/base/log.h"
#include "symbolizer/base/parse.h"
#include "symbolizer/files/path_walk.h"

enum { READER_POLL_MS = 20, READER_SAID_MS = 1000 };

/*
 * Returns N for /dev/stdout, /dev/stderr, /dev/fd/N and /proc/self/fd/N, -1 for other paths. Such a name means the open
 * descriptor, with its offset and O_APPEND, even if it is a regular file.
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

		if (strncmp(path, prefixes[i], len) == 0 && parse_u64(path + len, 0, INT_MAX, &fd) == 0)
			return (int)fd;
	}
	return -1;
}

/* Signals of Ctrl-C, kill(1) and a closed terminal. While they are blocked they do not interrupt system calls. */
static bool end_is_asked(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 && (sigismember(&pending, SIGINT) == 1 ||
					     sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGHUP) == 1);
}

/* Waits for a reader by polling, so that blocked signals are noticed: ENXIO means that there is no reader yet. */
static int open_waiting(const char *self, const char *path)
{
	int fd;

	for (int ms = 0;; ms += READER_POLL_MS) {
		fd = open(self, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd >= 0 || errno != ENXIO)
			return fd;
		if (end_is_asked()) {
			errno = EINTR;
			return -1;
		}
		if (ms == READER_SAID_MS)
			log_warn("waiting for a reader of '%s'", path);
		poll(NULL, 0, READER_POLL_MS);
	}
}

/* Reopens the checked descriptor rather than the name, which may mean another file by now. */
static int open_in_place(const struct path_end *end, const char *path)
{
	bool fifo = S_ISFIFO(end->st.st_mode);
	char self[40];
	int fd, flags;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", end->fd);
	fd = fifo ? open_waiting(self, path) : open(self, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno == EPERM ? -EACCES : -errno;
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0) {
		close(fd);
		return -EIO;
	}
	return fd;
}

static int refuse_other(const struct stat *st, int code, struct err *why)
{
	return err_set(why, code,
		       "it belongs to user %u, in a directory where others may write; remove it, or name another file",
		       (unsigned)st->st_uid);
}

/* The same rule as fs.protected_regular and fs.protected_fifos (proc_sys_fs(5)) at level 2. */
static bool is_others(const struct stat *dir, const struct stat *st)
{
	return path_dir_shared(dir) && st->st_uid != geteuid() && st->st_uid != dir->st_uid;
}

static bool is_own_file(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid();
}

/* Others may have moved a device there, or linked a device or a FIFO that is not theirs. */
static bool is_planted(const struct stat *dir, const struct stat *st)
{
	return path_dir_foreign(dir) && (!S_ISFIFO(st->st_mode) || st->st_nlink > 1);
}

static int place_in_place(const struct path_end *end, const char *path, struct err *why)
{
	if (S_ISSOCK(end->st.st_mode))
		return err_set(why, -ENXIO, "it is a socket; name a file");
	if (end->dir >= 0 && is_others(&end->dir_st, &end->st))
		return refuse_other(&end->st, -EACCES, why);
	if (end->dir >= 0 && is_planted(&end->dir_st, &end->st))
		return err_set(why, -EACCES, "it is a %s in a directory where others may write; name another file",
			       S_ISFIFO(end->st.st_mode) ? "FIFO with two names" : "device");
	return open_in_place(end, path);
}

static int place_file(const struct path_end *end, struct err *why)
{
	char self[40];

	if (end->dir < 0)
		return err_set(why, -EINVAL, "it is a file that another process has open; give the file's own name");
	if (is_others(&end->dir_st, &end->st))
		return refuse_other(&end->st, -EACCES, why);
	/* Replacing a file needs no permission on the file itself, so check for it here. */
	snprintf(self, sizeof(self), "/proc/self/fd/%d", end->fd);
	return faccessat(AT_FDCWD, self, W_OK, AT_EACCESS) < 0 ? -EACCES : -1;
}

static int place_own(const char *path, struct path_end *end, struct err *why)
{
	int r = path_walk(path, false, end, why);

	if (r == -ELOOP || r == -EISDIR || (r == 0 && end->fd >= 0 && !is_own_file(&end->st)))
		return -EEXIST;
	return r < 0 ? r : -1;
}

static int duplicate(int own)
{
	int fd = fcntl(own, F_DUPFD_CLOEXEC, 3);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode))
		return fd < 0 ? -errno : fd;
	close(fd);
	return -EISDIR;
}

int outfile_place(const char *path, bool own_only, struct path_end *end, struct err *why)
{
	int own = path_descriptor(path), r;

	if (own_only)
		return place_own(path, end, why);
	if (own < 0) {
		r = path_walk(path, true, end, why);
		if (r < 0)
			return r == -EPERM ? -EACCES : r;
		own = end->own;
	}
	if (own >= 0)
		return duplicate(own);
	if (end->fd < 0)
		return -1;
	return S_ISREG(end->st.st_mode) ? place_file(end, why) : place_in_place(end, path, why);
}

int outfile_place_check(int dir, const char *name, bool own_only, struct err *why)
{
	struct stat d, st;

	if (fstat(dir, &d) < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* the name is free, or naming the file will fail */
	if (own_only ? !is_own_file(&st) : is_others(&d, &st))
		return refuse_other(&st, -EEXIST, why);
	return 0;
}
