#include "symbolizer/files/path_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/base/parse.h"
#include "symbolizer/files/fuse_user.h"

enum { LINKS_MAX = 40, PROC_ROOT_INODE = 1 };

#define NOBODY ((uid_t)-1)

struct path_walk {
	struct path_end *end; /* end->dir: the current directory */
	uid_t bound; /* the user who may have put there a link that was followed; NOBODY: none but the caller or root */
	char link[PATH_MAX]; /* the first such link, for the message */
	bool follow;
	int links;
	char rest[2 * PATH_MAX]; /* path still to walk */
	struct err *why;
};

static bool trusted(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

bool path_dir_shared(const struct stat *dir)
{
	return dir->st_mode & S_ISVTX && dir->st_mode & (S_IWGRP | S_IWOTH);
}

bool path_dir_foreign(const struct stat *dir)
{
	return !trusted(dir->st_uid) || dir->st_mode & S_IWOTH || path_dir_shared(dir);
}

/* On a FUSE file system that an ordinary user mounted, everything counts as that user's. */
static int stat_owned(int fd, struct stat *st)
{
	uid_t user;

	if (fstat(fd, st) < 0)
		return -errno;
	if (fuse_user(fd, &user))
		st->st_uid = user;
	return 0;
}

/* A path for messages only. */
static void full_name(const struct path_walk *w, char *dst, size_t size)
{
	char self[40], dir[PATH_MAX];
	ssize_t n;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", w->end->dir);
	n = readlink(self, dir, sizeof(dir));
	if (n < 0 || n == sizeof(dir))
		n = 0;
	snprintf(dst, size, "%.*s%s%s", (int)n, dir, n > 1 ? "/" : "", w->end->name);
}

/* Could that user have walked there? The user's groups are unknown, so group permissions must not matter. */
static bool may_search(uid_t uid, const struct stat *dir)
{
	mode_t need = dir->st_uid == uid ? S_IXUSR : S_IXGRP | S_IXOTH;

	return (dir->st_mode & need) == need;
}

static int refuse_bound(const struct path_walk *w)
{
	return err_set(w->why, -EACCES,
		       "the symbolic link '%s', which user %u controls, leads outside that user's "
		       "directories; give the name that it leads to",
		       w->link, (unsigned)w->bound);
}

/* Consumes fd. */
static int enter(struct path_walk *w, int fd, const struct stat *st)
{
	if (w->end->dir >= 0)
		close(w->end->dir);
	w->end->dir = fd;
	w->end->dir_st = *st;
	return w->bound == NOBODY || may_search(w->bound, st) ? 0 : refuse_bound(w);
}

static int enter_name(struct path_walk *w, int at, const char *name)
{
	CLEANUP(close_at_exit) int fd = openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	int r = fd < 0 ? -errno : stat_owned(fd, &st);

	return r < 0 ? r : enter(w, take_fd(&fd), &st);
}

static int refuse_link(const struct path_walk *w, const struct stat *link)
{
	char name[PATH_MAX];

	full_name(w, name, sizeof(name));
	if (link->st_nlink > 1)
		return err_set(w->why, -EACCES,
			       "the symbolic link '%s' has a second name (a hard link), and others may "
			       "have put it there: it is not followed; name another file",
			       name);
	return err_set(w->why, -EACCES,
		       "the symbolic link '%s' belongs to user %u, and is not followed; remove it, or name "
		       "another file",
		       name, (unsigned)link->st_uid);
}

static int refuse_process(const struct path_walk *w)
{
	char name[PATH_MAX];

	full_name(w, name, sizeof(name));
	return err_set(w->why, -EACCES,
		       "'%s' is a link of another process, and is not followed; give the file's own "
		       "name",
		       name);
}

static bool may_follow(const struct stat *dir, const struct stat *link)
{
	bool owners = link->st_uid == dir->st_uid;

	if (link->st_nlink > 1 && (path_dir_foreign(dir) || dir->st_mode & S_IWGRP))
		return false;
	if (path_dir_shared(dir))
		return owners || link->st_uid == geteuid();
	return trusted(link->st_uid) || (owners && !(dir->st_mode & S_IWOTH));
}

/*
 * The user who may have made the link; NOBODY: the caller or root. The owner of a directory can move links of root to
 * places where their text means something else. The caller's own links are followed as usual.
 */
static uid_t author(const struct stat *dir, const struct stat *link)
{
	if (!trusted(link->st_uid))
		return link->st_uid;
	return link->st_uid == 0 && !trusted(dir->st_uid) ? dir->st_uid : NOBODY;
}

static int check_link(struct path_walk *w, const struct stat *link)
{
	uid_t by = author(&w->end->dir_st, link);

	if (!w->follow || ++w->links > LINKS_MAX)
		return -ELOOP;
	if (!may_follow(&w->end->dir_st, link))
		return refuse_link(w, link);
	if (by == NOBODY)
		return 0;
	if (w->bound != NOBODY && w->bound != by)
		return refuse_bound(w);
	if (w->bound == NOBODY)
		full_name(w, w->link, sizeof(w->link));
	w->bound = by;
	return 0;
}

/*
 * Links below /proc, except those directly in it (self, mounts), lead to an open file regardless of their text:
 * proc(5).
 */
static bool is_magic(const struct path_walk *w)
{
	struct statfs fs;

	return w->end->dir_st.st_ino != PROC_ROOT_INODE && fstatfs(w->end->dir, &fs) == 0 &&
	       fs.f_type == PROC_SUPER_MAGIC;
}

static bool is_dir(const struct stat *dir, const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_dev == dir->st_dev && st.st_ino == dir->st_ino;
}

static bool is_own_fds(const struct stat *dir)
{
	return is_dir(dir, "/proc/self/fd") || is_dir(dir, "/proc/thread-self/fd");
}

/*
 * A process with another root may have arranged the files there, and a process that is not dumpable shows root as the
 * owner of its links, whoever runs it. So root follows only links of this process; other users also those of their own
 * processes.
 */
static bool may_follow_magic(const struct stat *dir, const struct stat *link)
{
	if (is_own_fds(dir) || is_dir(dir, "/proc/self") || is_dir(dir, "/proc/thread-self"))
		return true;
	return geteuid() != 0 && link->st_uid == geteuid();
}

static int finish(struct path_walk *w, int fd)
{
	struct path_end *end = w->end;
	bool his = fd < 0 || S_ISREG(end->st.st_mode) || end->st.st_uid == w->bound;

	end->fd = fd;
	if (w->bound != NOBODY && (end->dir < 0 || end->dir_st.st_uid != w->bound || !his))
		return refuse_bound(w);
	return 0;
}

/* Nobody can replace a link in /proc, so the kernel may follow it. 1: this was the last component. */
static int follow_magic(struct path_walk *w, const struct stat *link)
{
	CLEANUP(close_at_exit) int fd = -1;
	struct path_end *end = w->end;
	uint64_t n;
	int r;

	if (!may_follow_magic(&end->dir_st, link))
		return refuse_process(w);
	if (!w->rest[0] && is_own_fds(&end->dir_st) && parse_u64(end->name, 0, INT_MAX, &n) == 0) {
		end->own = (int)n;
		return w->bound == NOBODY ? 1 : refuse_bound(w);
	}
	fd = openat(end->dir, end->name, O_PATH | O_CLOEXEC);
	r = fd < 0 ? -errno : stat_owned(fd, &end->st);
	if (r < 0)
		return r;
	if (S_ISDIR(end->st.st_mode)) {
		struct stat st = end->st;

		return enter(w, take_fd(&fd), &st);
	}
	if (w->rest[0])
		return -ENOTDIR;
	close(end->dir);
	end->dir = -1;
	return finish(w, take_fd(&fd)) < 0 ? -EACCES : 1;
}

/* Prepends the text of the link to the rest of the path. */
static int follow_text(struct path_walk *w, int link)
{
	char text[PATH_MAX];
	size_t left = strlen(w->rest);
	ssize_t n = readlinkat(link, "", text, sizeof(text));

	if (n <= 0)
		return n < 0 ? -errno : -ENOENT;
	if (n == sizeof(text) || (size_t)n + left >= sizeof(w->rest))
		return -ENAMETOOLONG;
	memmove(w->rest + n, w->rest, left + 1);
	memcpy(w->rest, text, (size_t)n);
	return text[0] == '/' ? enter_name(w, AT_FDCWD, "/") : 0;
}

/* O_DIRECTORY first: without it, O_PATH does not trigger automounts. */
static int open_name(int dir, const char *name)
{
	int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Walks the component in end->name. 1: it was the last. */
static int step(struct path_walk *w)
{
	struct path_end *end = w->end;
	CLEANUP(close_at_exit) int fd = open_name(end->dir, end->name);
	bool slashes = w->rest[0] && !w->rest[strspn(w->rest, "/")];
	struct stat st;
	int r;

	if (fd == -ENOENT && !w->rest[0])
		return finish(w, -1) < 0 ? -EACCES : 1;
	if (fd < 0)
		return fd == -ENOENT && slashes ? -EISDIR : fd;
	r = stat_owned(fd, &st);
	if (r < 0)
		return r;
	if (S_ISDIR(st.st_mode))
		return enter(w, take_fd(&fd), &st);
	if (S_ISLNK(st.st_mode)) {
		r = check_link(w, &st);
		if (r == 0)
			r = is_magic(w) ? follow_magic(w, &st) : follow_text(w, fd);
		return r;
	}
	if (w->rest[0])
		return -ENOTDIR;
	end->st = st;
	return finish(w, take_fd(&fd)) < 0 ? -EACCES : 1;
}

/* Takes the next component off `rest`; if there is none, the path leads to a directory. */
static int next_name(struct path_walk *w)
{
	size_t slashes = strspn(w->rest, "/"), len = strcspn(w->rest + slashes, "/");

	if (len == 0)
		return -EISDIR;
	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(w->end->name, w->rest + slashes, len);
	w->end->name[len] = '\0';
	memmove(w->rest, w->rest + slashes + len, strlen(w->rest + slashes + len) + 1);
	return 0;
}

/* Terminates: each iteration shortens `rest`, except for links, which are counted. */
static int walk_all(struct path_walk *w)
{
	struct path_end *end = w->end;
	int r = enter_name(w, AT_FDCWD, w->rest[0] == '/' ? "/" : ".");

	while (r == 0) {
		r = next_name(w);
		if (r < 0)
			break;
		if (strcmp(end->name, ".") == 0 || strcmp(end->name, "..") == 0)
			r = enter_name(w, end->dir, end->name);
		else
			r = step(w);
	}
	return r < 0 ? r : 0;
}

int path_walk(const char *path, bool links, struct path_end *ret, struct err *why)
{
	struct err unseen;
	struct path_walk w = {.end = ret, .bound = NOBODY, .follow = links, .why = why ? why : &unseen};

	*ret = (struct path_end){.dir = -1, .fd = -1, .own = -1};
	w.why->msg[0] = '\0';
	if (!path[0])
		return -ENOENT;
	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(w.rest, path);
	return walk_all(&w);
}

void path_end_done(struct path_end *end)
{
	if (end->dir >= 0)
		close(end->dir);
	if (end->fd >= 0)
		close(end->fd);
	end->dir = end->fd = -1;
}
