#include "sampler/store/store_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/sorted.h"

#define ASIDE ".aside"

/* Suffixes of a file's log, and of the log's index (sqlite.org/wal.html). */
static const char *const logs[] = {"-wal", "-shm"};

enum { LONG_NAME = DAY_NAME + 16, LOG_NAME = LONG_NAME + 8 };

static int open_directory(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static uint64_t bytes_of(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : (uint64_t)st.st_blocks * 512;
}

static const char *log_name(const char *name, size_t i, char dst[LOG_NAME])
{
	snprintf(dst, LOG_NAME, "%s%s", name, logs[i]);
	return dst;
}

static void name_of(const struct store_file *f, char dst[LONG_NAME])
{
	char name[DAY_NAME];

	day_name(f->id, name);
	snprintf(dst, LONG_NAME, "%s%s", name, f->aside ? ASIDE : "");
}

static bool is_file(const char *name, struct store_file *ret)
{
	size_t n = strlen(name), end = strlen(ASIDE);
	char whole[LONG_NAME];

	if (n >= sizeof(whole))
		return false;
	strcpy(whole, name);
	ret->aside = n > end && strcmp(name + n - end, ASIDE) == 0;
	if (ret->aside)
		whole[n - end] = '\0';
	return day_id_of(whole, &ret->id);
}

static int by_order(const void *va, const void *vb)
{
	const struct store_file *a = va, *b = vb;

	return descending(a->aside, b->aside) ?: ascending(a->id.step, b->id.step) ?: ascending(a->id.date, b->id.date);
}

int store_files(const char *dir, store_file_list *ret)
{
	CLEANUP(close_at_exit) int fd = open_directory(dir);
	DIR *d = fd < 0 ? NULL : fdopendir(dup(fd));
	const struct dirent *e;
	int r = 0;

	if (!d)
		return fd < 0 ? fd : -errno;
	while (r == 0 && (e = readdir(d))) {
		struct store_file f = {0};
		char log[LOG_NAME];
		struct stat st;

		/* Opening another user's FIFO would wait for a writer. */
		if (!is_file(e->d_name, &f) || fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		f.bytes = (uint64_t)st.st_blocks * 512 + bytes_of(fd, log_name(e->d_name, 0, log));
		r = vec_push(ret, f) ? 0 : -ENOMEM;
	}
	closedir(d);
	if (r == 0 && ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_order);
	return r;
}

/* The log goes first: it must not outlive its file, which another one may replace. */
int store_file_remove(const char *dir, const struct store_file *f)
{
	CLEANUP(close_at_exit) int fd = open_directory(dir);
	char name[LONG_NAME], log[LOG_NAME];

	if (fd < 0)
		return fd;
	name_of(f, name);
	for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++)
		unlinkat(fd, log_name(name, i, log), 0);
	return unlinkat(fd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int store_file_set_aside(const char *dir, struct day_id id)
{
	CLEANUP(close_at_exit) int fd = open_directory(dir);
	struct store_file f = {.id = id};
	char name[LONG_NAME], aside[LONG_NAME], log[LOG_NAME], log_aside[LOG_NAME];

	if (fd < 0)
		return fd;
	name_of(&f, name);
	f.aside = true;
	name_of(&f, aside);
	for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++)
		renameat(fd, log_name(name, i, log), fd, log_name(aside, i, log_aside));
	return renameat(fd, name, fd, aside) < 0 ? -errno : 0;
}

unsigned store_free_percent(const char *dir)
{
	struct statvfs v;

	if (statvfs(dir, &v) < 0 || !v.f_blocks)
		return 100;
	return (unsigned)(v.f_bavail * 100 / v.f_blocks);
}

uint64_t store_free_bytes(const char *dir, unsigned keep_percent)
{
	struct statvfs v;
	uint64_t keep;

	if (statvfs(dir, &v) < 0 || !v.f_blocks)
		return UINT64_MAX;
	keep = (uint64_t)v.f_blocks / 100 * keep_percent;
	return v.f_bavail > keep ? (v.f_bavail - keep) * v.f_frsize : 0;
}
