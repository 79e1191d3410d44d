#include "jvm-bridge/attach/attach_child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include "symbolizer/base/buf.h"
#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/hash.h"
#include "symbolizer/target/path_in_root.h"

/* Directories for files, in this order. All but /tmp are often missing in containers. */
static const char *const dirs[] = {"/tmp", "/var/tmp", "/dev/shm", "/run"};

static int write_probe(int dir)
{
	char link[40];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	return faccessat(AT_FDCWD, link, W_OK | X_OK, AT_EACCESS) < 0 ? -errno : 0;
}

/* Root's group is trusted like root; of any other group, all members could. */
static bool others_may_replace(const struct stat *s)
{
	return !(s->st_mode & S_ISVTX) && (s->st_mode & S_IWOTH || (s->st_mode & S_IWGRP && s->st_gid != 0));
}

/* NULL, or why the directory is unsuitable. Others than its owner and our user must not be able to replace files. */
static const char *unfit(const struct attach_child *in, int dir, bool library)
{
	struct statvfs v;
	struct stat s;
	int r;

	if (fstat(dir, &s) < 0 || !S_ISDIR(s.st_mode))
		return "no directory";
	if (others_may_replace(&s))
		return "others may replace files in it";
	if (s.st_uid != 0 && s.st_uid != in->st.euid && !(s.st_mode & S_ISVTX))
		return "another user's";
	if (library && fstatvfs(dir, &v) == 0 && v.f_flag & ST_NOEXEC)
		return "mounted noexec";
	r = write_probe(dir);
	return r == -EROFS ? "read-only" : r < 0 ? "not writable for the JVM's user" : NULL;
}

/* The next suitable directory; the reasons against the others are added to `why`. */
static int next_dir(const struct attach_child *in, size_t *i, bool library, struct buf *why)
{
	for (; *i < sizeof(dirs) / sizeof(dirs[0]); ++*i) {
		int dir = path_in_root_open(in->root, dirs[*i]);
		const char *reason = dir < 0 ? "missing" : unfit(in, dir, library);

		if (!reason)
			return dir;
		buf_printf(why, "%s%s: %s", why->len ? ", " : "", dirs[*i], reason);
		if (dir >= 0)
			close(dir);
	}
	return -ENOENT;
}

void place_remove(struct placed *p)
{
	if (p->dir < 0)
		return;
	unlinkat(p->dir, p->name, 0);
	close(p->dir);
	p->dir = -1;
}

/* --- the library --- */

/* Does the target see that same file, on a file system where it may be mapped executable? */
static bool same_for_target(const struct attach_child *in, const char *path, const struct stat *st)
{
	CLEANUP(close_at_exit) int fd = path_in_root_open(in->root, path);
	struct statvfs v;
	struct stat s;
	char link[40];

	if (fd < 0 || fstat(fd, &s) < 0 || s.st_dev != st->st_dev || s.st_ino != st->st_ino || fstatvfs(fd, &v) < 0 ||
	    v.f_flag & ST_NOEXEC)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return faccessat(AT_FDCWD, link, R_OK, AT_EACCESS) == 0;
}

static int write_all(int fd, const char *p, size_t len)
{
	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* The name gets a complete file or none, replacing whatever was there. */
static int write_copy(int dir, const char *name, const char *bytes, size_t len)
{
	CLEANUP(close_at_exit) int fd = -1;
	char tmp[80];
	int r;

	snprintf(tmp, sizeof(tmp), ".%s.%d", name, (int)getpid());
	unlinkat(dir, tmp, 0);
	fd = openat(dir, tmp, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0500);
	if (fd < 0)
		return -errno;
	r = write_all(fd, bytes, len);
	if (r == 0 && renameat(dir, tmp, dir, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(dir, tmp, 0);
	return r;
}

/* Is the file now at that name the copy, owned by the target's user? */
static bool is_copy(const struct attach_child *in, int dir, const char *name, size_t len)
{
	struct stat s;

	return fstatat(dir, name, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(s.st_mode) && s.st_uid == in->st.euid &&
	       (s.st_mode & 07777) == 0500 && (size_t)s.st_size == len;
}

static int copy_library(struct attach_child *in, const char *bytes, size_t len, struct placed *ret, struct err *err)
{
	struct buf why = {0};
	int dir, r = -ENOENT;

	/* glibc recognises a loaded library by the name it was loaded by, even if the file is gone. */
	snprintf(ret->name, sizeof(ret->name), "libjsampler-bridge-%016" PRIx64 ".so", hash_bytes(bytes, len));
	for (size_t i = 0; (dir = next_dir(in, &i, true, &why)) >= 0; i++) {
		r = write_copy(dir, ret->name, bytes, len);
		if (r == 0 && is_copy(in, dir, ret->name, len)) {
			ret->dir = dir;
			snprintf(ret->path, sizeof(ret->path), "%s/%s", dirs[i], ret->name);
			break;
		}
		buf_printf(&why, "%s%s: %s", why.len ? ", " : "", dirs[i], strerror(r ? -r : EPERM));
		close(dir);
		r = -ENOENT;
	}
	if (r < 0)
		err_set(err, r,
			"the bridge library cannot be put where the JVM finds it (%s): mount it there "
			"under its own path",
			why.data ? why.data : "");
	buf_done(&why);
	return r;
}

int place_library(struct attach_child *in, const struct library *lib, struct placed *ret, struct err *err)
{
	ret->dir = -1;
	if (!same_for_target(in, lib->path, &lib->st))
		return copy_library(in, lib->bytes, lib->len, ret, err);
	if (strlen(lib->path) >= sizeof(ret->path))
		return err_set(err, -ENAMETOOLONG, "the path %.80s... is too long", lib->path);
	strcpy(ret->path, lib->path);
	return 0;
}

/* --- the socket --- */

static int bind_in(int dir, const char *name)
{
	CLEANUP(close_at_exit) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	mode_t old;
	int r;

	if (fd < 0)
		return -errno;
	snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/%s", dir, name);
	old = umask(0177);
	r = bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ? -errno : 0;
	umask(old);
	if (r == 0 && listen(fd, 4) < 0)
		r = -errno;
	return r < 0 ? r : take_fd(&fd);
}

int place_socket(struct attach_child *in, struct placed *ret, int *ret_fd, struct err *err)
{
	struct buf why = {0};
	uint64_t random;
	int dir, fd = -ENOENT;

	ret->dir = -1;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return err_set(err, -EIO, "cannot get a random number");
	snprintf(ret->name, sizeof(ret->name), ".jsampler-%016" PRIx64, random);
	for (size_t i = 0; (dir = next_dir(in, &i, false, &why)) >= 0; i++) {
		fd = bind_in(dir, ret->name);
		if (fd >= 0) {
			ret->dir = dir;
			snprintf(ret->path, sizeof(ret->path), "%s/%s", dirs[i], ret->name);
			break;
		}
		buf_printf(&why, "%s%s: %s", why.len ? ", " : "", dirs[i], strerror(-fd));
		close(dir);
	}
	if (fd < 0)
		err_set(err, fd, "no place for a socket that the JVM can connect to (%s)", why.data ? why.data : "");
	else
		*ret_fd = fd;
	buf_done(&why);
	return fd < 0 ? fd : 0;
}
