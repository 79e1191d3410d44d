#include "sampler/daemon/config/config_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/base/cleanup.h"
#include "symbolizer/base/err.h"
#include "symbolizer/files/fileio.h"

enum { FILE_MAX = 256 << 10, FILES_MAX = 100 };

static int check(int fd, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "cannot look at it: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "it is not a regular file");
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return err_set(err, -EPERM, "it belongs to another user (uid %u); chown it to root",
			       (unsigned)st.st_uid);
	if (st.st_mode & S_IWOTH || (st.st_mode & S_IWGRP && st.st_gid != 0))
		return err_set(err, -EPERM, "others may write to it; use chmod go-w");
	return 0;
}

/* Opens without blocking, so that a FIFO cannot make us wait. */
static int read_file(const char *path, char **ret, size_t *ret_len, struct err *err)
{
	CLEANUP(close_at_exit) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int r;

	if (fd < 0)
		return err_set(err, -errno, "cannot open it: %s", strerror(errno));
	r = check(fd, err);
	if (r < 0)
		return r;
	r = file_read_fd(fd, FILE_MAX, ret, ret_len);
	if (r == -EFBIG)
		return err_set(err, r, "it is larger than %d KB", FILE_MAX >> 10);
	return r < 0 ? err_set(err, r, "cannot read it: %s", strerror(-r)) : 0;
}

static int is_conf(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return d->d_name[0] != '.' && n > 5 && strcmp(d->d_name + n - 5, ".conf") == 0;
}

/* In byte order, whatever the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

struct reading {
	void (*text)(void *ctx, const char *file, const char *text, size_t len);
	void (*problem)(void *ctx, const char *problem);
	void *ctx;
};

static void tell(const struct reading *r, const char *path, const char *what)
{
	char whole[PATH_MAX + 500];

	snprintf(whole, sizeof(whole), "%s: %s", path, what);
	r->problem(r->ctx, whole);
}

static void read_one(const struct reading *r, const char *path)
{
	CLEANUP(free_at_exit) char *text = NULL;
	struct err err;
	size_t len;

	if (read_file(path, &text, &len, &err) < 0)
		tell(r, path, err.msg);
	else
		r->text(r->ctx, path, text, len);
}

static void read_folder(const struct reading *r, const char *folder)
{
	struct dirent **names = NULL;
	int n = scandir(folder, &names, is_conf, by_name);
	char path[PATH_MAX];

	if (n < 0 && errno != ENOENT)
		tell(r, folder, strerror(errno));
	if (n > FILES_MAX)
		tell(r, folder, "it has more than 100 files that end in .conf");
	for (int i = 0; i < n; i++) {
		if (n <= FILES_MAX &&
		    snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name) < (int)sizeof(path))
			read_one(r, path);
		free(names[i]);
	}
	free(names);
}

void config_files_read(const char *path, void (*text)(void *ctx, const char *file, const char *text, size_t len),
		       void (*problem)(void *ctx, const char *problem), void *ctx)
{
	const struct reading r = {text, problem, ctx};
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];

	read_one(&r, path);
	if (snprintf(folder, sizeof(folder), "%.*sconf.d", slash ? (int)(slash + 1 - path) : 0, path) <
	    (int)sizeof(folder))
		read_folder(&r, folder);
}
