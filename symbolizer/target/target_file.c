#include "symbolizer/target/target_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/target/deputy.h"
#include "symbolizer/target/maps.h"
#include "symbolizer/target/path_in_root.h"
#include "symbolizer/target/proc.h"

#define FILE_MAX (INT64_C(2) << 30)

/* Not in every linux/magic.h. */
enum { AUFS_MAGIC = 0x61756673, BCACHEFS_MAGIC = (int)0xca451a4eu };

/*
 * Opens a regular file for reading through its O_PATH descriptor. Refuses others, since opening them may have effects
 * (devices) or block (FIFOs).
 */
static int open_regular(int pathfd)
{
	struct stat st;
	char self[40];
	int fd;

	if (fstat(pathfd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -ENXIO;
	if (st.st_size > FILE_MAX)
		return -EFBIG;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", pathfd);
	fd = open(self, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	return fd >= 0 ? fd : -errno;
}

/* On these, stat(2) reports another device than maps does: overlayfs per layer, btrfs per subvolume. */
static bool device_may_differ(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	return fs.f_type == OVERLAYFS_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC ||
	       (uint32_t)fs.f_type == AUFS_MAGIC || (uint32_t)fs.f_type == (uint32_t)BCACHEFS_MAGIC;
}

static bool is_mapped_file(int fd, const struct mapping *map)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_ino != map->inode)
		return false;
	return (major(st.st_dev) == map->dev_major && minor(st.st_dev) == map->dev_minor) || device_may_differ(fd);
}

/* Consumes pathfd. */
static int open_if(int pathfd, bool ok)
{
	int r = ok ? open_regular(pathfd) : -ESTALE;

	close(pathfd);
	return r;
}

/* Consumes pathfd (or a negative errno). */
static int open_checked(int pathfd, const struct mapping *map)
{
	return pathfd < 0 ? pathfd : open_if(pathfd, is_mapped_file(pathfd, map));
}

/* Does the link of the address range still have the mapping's path? */
static bool is_same_link(struct proc *p, const char *link, const struct mapping *map)
{
	static const char deleted[] = " (deleted)";
	char now[PATH_MAX], then[PATH_MAX];
	ssize_t n = readlinkat(proc_dirfd(p), link, now, sizeof(now));
	int len = snprintf(then, sizeof(then), "%s%s", map->path, map->deleted ? deleted : "");

	return n > 0 && n == len && memcmp(now, then, (size_t)n) == 0;
}

/*
 * Needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE; the link's name is the current address range. If overlayfs has copied
 * a file up to another file system, maps shows the inode of the lower file, stat(2) that of the upper one; then the
 * link's text decides.
 */
static int open_map_files(struct proc *p, const struct mapping *map)
{
	char link[64];
	int fd;

	snprintf(link, sizeof(link), "map_files/%" PRIx64 "-%" PRIx64, map->start, map->end);
	fd = openat(proc_dirfd(p), link, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return open_if(fd, is_mapped_file(fd, map) || (device_may_differ(fd) && is_same_link(p, link, map)));
}

static int open_below_root(struct proc *p, const char *path)
{
	CLEANUP(close_at_exit) int root = openat(proc_dirfd(p), "root", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return errno == ENOENT && !proc_alive(p) ? -ESRCH : -errno;
	return path_in_root_open(root, path);
}

/* The more informative of two errors: that a file is wrong or refused, rather than missing. */
static int worse_error(int a, int b)
{
	return a == -ENOENT || a == -ENOTDIR || b == -ESTALE ? b : a;
}

/* The deputy opens the file mapped there now, which may have changed since the maps were read. */
static int open_by_deputy(struct proc *p, const struct mapping *map)
{
	uint32_t number;
	int fd, r = proc_number(p, &number);

	if (r < 0)
		return r;
	fd = deputy()->mapped(deputy()->ctx, number, map);
	if (fd < 0 || target_file_is_copy(fd) || is_mapped_file(fd, map) || device_may_differ(fd))
		return fd;
	close(fd);
	return -ESTALE;
}

static int open_mapping(struct proc *p, const struct mapping *map)
{
	int fd = open_map_files(p, map), again;

	if (fd >= 0 || map->path[0] != '/')
		return fd;
	fd = open_checked(open_below_root(p, map->path), map);
	if (fd >= 0 || fd == -ESRCH || !proc_same_ns(p, "mnt"))
		return fd;
	/* The kernel prints the path as seen from jsampler's root, including a target's chroot. */
	again = open_checked(path_exact_open(map->path), map);
	return again >= 0 ? again : worse_error(fd, again);
}

bool target_file_is_copy(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & TARGET_FILE_SEALS) == TARGET_FILE_SEALS;
}

const char *target_file_why_far(int code)
{
	switch (-code) {
	case ETIMEDOUT: return "whose file system does not answer in time";
	case ENOBUFS: return "too large to be copied from its file system";
	default: return NULL;
	}
}

static int fail(struct err *err, int code, const char *path)
{
	if (target_file_why_far(code))
		return err_set(err, code, "'%s' of the target is not read: a file %s", path, target_file_why_far(code));
	errno = -code;
	switch (-code) {
	case ESTALE: return err_set(err, code, "'%s' is no longer the file that is mapped", path);
	case ENXIO: return err_set(err, code, "'%s' is not a regular file", path);
	case EFBIG: return err_set(err, code, "'%s' is larger than 2 GiB", path);
	default: return err_set(err, code, "cannot open '%s' of the target: %m", path);
	}
}

int target_file_open_mapping(struct proc *p, const struct mapping *map, int *ret, struct err *err)
{
	int fd;

	if (map->inode == 0)
		return err_set(err, -ENOENT, "no file is mapped at 0x%" PRIx64, map->start);
	fd = deputy() ? open_by_deputy(p, map) : open_mapping(p, map);
	if (fd < 0)
		return fail(err, fd, map->path);
	*ret = fd;
	return 0;
}

static int open_path(struct proc *p, const char *path)
{
	CLEANUP(close_at_exit) int pathfd = -1;
	uint32_t number;
	int r;

	if (deputy()) {
		r = proc_number(p, &number);
		return r < 0 ? r : deputy()->path(deputy()->ctx, number, path);
	}
	pathfd = open_below_root(p, path);
	return pathfd < 0 ? pathfd : open_regular(pathfd);
}

int target_file_open(struct proc *p, const char *path, int *ret, struct err *err)
{
	int fd = open_path(p, path);

	if (fd < 0)
		return fail(err, fd, path);
	*ret = fd;
	return 0;
}

int target_file_open_on_host(const char *path)
{
	int fd;

	if (deputy())
		return deputy()->host_path(deputy()->ctx, path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}
