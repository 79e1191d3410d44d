#include "symbolizer/target/path_in_root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DEPTH_MAX = 64, LINKS_MAX = 40 };

static int open_resolve(int dirfd, const char *path, uint64_t resolve)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = resolve};
	int fd = -1;

	/* EAGAIN: something was renamed meanwhile, so that ".." might have led out. */
	for (int i = 0; i < 8; i++) {
		fd = (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return fd >= 0 ? fd : -errno;
}

/* An old kernel lacks it, or a seccomp filter refuses it with EPERM. */
static bool openat2_missing(int code)
{
	return code == -ENOSYS || code == -EPERM;
}

int path_in_root_open(int rootfd, const char *path)
{
	int fd = open_resolve(rootfd, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);

	return openat2_missing(fd) ? path_in_root_walk(rootfd, path) : fd;
}

/* The directories entered so far. ".." goes back in this list, so it cannot lead out, whatever is renamed meanwhile. */
struct root_walk {
	int rootfd; /* borrowed */
	int fds[DEPTH_MAX];
	int depth;
	int links;
	bool follow_links;
	char rest[2 * PATH_MAX];
};

static int walk_top(const struct root_walk *w)
{
	return w->depth > 0 ? w->fds[w->depth - 1] : w->rootfd;
}

static void walk_up(struct root_walk *w, int depth)
{
	while (w->depth > depth)
		close(w->fds[--w->depth]);
}

/* Prepends the text of the link `fd` to the rest of the path. */
static int walk_link(struct root_walk *w, int fd, size_t skip)
{
	char text[PATH_MAX];
	size_t left = strlen(w->rest + skip);
	ssize_t n = readlinkat(fd, "", text, sizeof(text));

	if (n < 0)
		return -errno;
	if (!w->follow_links || ++w->links > LINKS_MAX)
		return -ELOOP;
	if (n == 0 || n == sizeof(text) || (size_t)n + 1 + left >= sizeof(w->rest))
		return -ENAMETOOLONG;
	if (text[0] == '/')
		walk_up(w, 0);
	memmove(w->rest + n + 1, w->rest + skip, left + 1);
	memcpy(w->rest, text, (size_t)n);
	w->rest[n] = '/';
	return 0;
}

/* Walks one component. A file is put on the list like a directory; a further component then gives ENOTDIR. */
static int walk_step(struct root_walk *w, const char *name, size_t skip)
{
	struct stat st;
	int fd, r;

	fd = openat(walk_top(w), name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = fstat(fd, &st) < 0 ? -errno : 0;
	if (r == 0 && S_ISLNK(st.st_mode)) {
		r = walk_link(w, fd, skip);
		close(fd);
		return r;
	}
	if (r == 0 && w->depth == DEPTH_MAX)
		r = -ENAMETOOLONG;
	if (r < 0) {
		close(fd);
		return r;
	}
	w->fds[w->depth++] = fd;
	memmove(w->rest, w->rest + skip, strlen(w->rest + skip) + 1);
	return 0;
}

/* Terminates: each iteration shortens `rest`, except for links, which are counted. */
static int walk_all(struct root_walk *w)
{
	char name[NAME_MAX + 1];
	size_t slashes, len;
	int r;

	for (;;) {
		slashes = strspn(w->rest, "/");
		len = strcspn(w->rest + slashes, "/");
		if (len == 0)
			return 0;
		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, w->rest + slashes, len);
		name[len] = '\0';
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
			if (len == 2 && w->depth > 0)
				walk_up(w, w->depth - 1);
			memmove(w->rest, w->rest + slashes + len, strlen(w->rest + slashes + len) + 1);
			continue;
		}
		r = walk_step(w, name, slashes + len);
		if (r < 0)
			return r;
	}
}

static int walk(int rootfd, const char *path, bool follow_links)
{
	struct root_walk w = {.rootfd = rootfd, .follow_links = follow_links};
	int r;

	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(w.rest, path);
	r = walk_all(&w);
	if (r == 0) {
		r = fcntl(walk_top(&w), F_DUPFD_CLOEXEC, 3);
		if (r < 0)
			r = -errno;
	}
	walk_up(&w, 0);
	return r;
}

int path_in_root_walk(int rootfd, const char *path)
{
	return walk(rootfd, path, true);
}

int path_exact_open(const char *path)
{
	int fd = open_resolve(AT_FDCWD, path, RESOLVE_NO_SYMLINKS), root;

	if (!openat2_missing(fd))
		return fd;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = walk(root, path, false);
	close(root);
	return fd;
}
